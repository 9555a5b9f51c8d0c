// Package machines answers the requests of the service Machines.
package machines

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/secret"
)

// Server implements the service.
type Server struct {
	base.Base
	// Pairs makes key pairs.
	Pairs *secret.Pairs
}

// CreateMachineUser creates a machine user.
func (s Server) CreateMachineUser(
	ctx context.Context, r *usersv1.CreateMachineUserRequest,
) (*usersv1.MachineUserResponse, error) {
	m := domain.NewMachine(base.OrgID(ctx), resource.NewID(), base.MachineData(r))
	record, err := s.Store.CreateUser(ctx, store.NewUser{User: m},
		&usersv1.MachineCreated{State: usersv1.UserState(m.State)})
	return &usersv1.MachineUserResponse{UserId: m.ID, Details: resource.Details(record, m.OrgID)}, err
}

// UpdateMachineUser replaces a machine user's names, description and token type. If nothing
// differs, it writes no event.
func (s Server) UpdateMachineUser(
	ctx context.Context, r *usersv1.UpdateMachineUserRequest,
) (*usersv1.MachineUserResponse, error) {
	details, err := s.NoteChange(ctx, base.OrgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		changed, err := found.ChangeMachine(base.MachineData(r))
		if len(changed) == 0 {
			return nil, err
		}
		return &usersv1.MachineChanged{Changed: changed}, err
	})
	return &usersv1.MachineUserResponse{UserId: r.UserId, Details: details}, err
}
