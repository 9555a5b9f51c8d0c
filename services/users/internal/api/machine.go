package api

import (
	"context"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// CreateMachineUser creates a machine user.
func (u Users) CreateMachineUser(
	ctx context.Context, r *usersv1.CreateMachineUserRequest,
) (*usersv1.MachineUserResponse, error) {
	m := domain.NewMachine(orgID(ctx), resource.NewID(), machineData(r))
	record, err := u.Store.CreateUser(ctx, store.NewUser{User: m},
		&usersv1.MachineCreated{State: usersv1.UserState(m.State)})
	if err != nil {
		return nil, err
	}
	return &usersv1.MachineUserResponse{UserId: m.ID, Details: resource.Details(record, m.OrgID)}, nil
}

// UpdateMachineUser replaces a machine user's names, description and token type. If nothing
// differs, it writes no event.
func (u Users) UpdateMachineUser(
	ctx context.Context, r *usersv1.UpdateMachineUserRequest,
) (*usersv1.MachineUserResponse, error) {
	details, _, err := u.changeUser(ctx, orgID(ctx), r.UserId, func(found *domain.User) (store.UserChange, error) {
		changed, err := found.ChangeMachine(machineData(r))
		if err != nil || len(changed) == 0 {
			return store.UserChange{}, err
		}
		return store.UserChange{Event: &usersv1.MachineChanged{Changed: changed}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.MachineUserResponse{UserId: r.UserId, Details: details}, nil
}

func machineData(r interface {
	GetUserName() string
	GetName() string
	GetDescription() string
	GetAccessTokenType() heraldv1.OidcTokenType
}) domain.MachineData {
	return domain.MachineData{
		UserName: r.GetUserName(), Name: r.GetName(), Description: r.GetDescription(),
		AccessTokenType: domain.AccessTokenType(r.GetAccessTokenType()),
	}
}

func machine(u domain.User) *usersv1.Machine {
	return &usersv1.Machine{
		Name: u.DisplayName, Description: u.Description, HasSecret: u.SecretHash != "",
		AccessTokenType: heraldv1.OidcTokenType(u.AccessTokenType),
	}
}
