package machines

import (
	"context"
	"encoding/hex"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

// SetMachineSecret replaces a machine user's secret by a new one.
func (s Server) SetMachineSecret(
	ctx context.Context, r *usersv1.SetMachineSecretRequest,
) (*usersv1.SetMachineSecretResponse, error) {
	clientSecret := secret.NewClientSecret()
	hash := domain.Hidden(hex.EncodeToString(secret.Hash(clientSecret.Reveal())))
	details, err := s.NoteChange(ctx, base.OrgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		return &usersv1.MachineSecretSet{}, found.SetSecret(hash)
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.SetMachineSecretResponse{
		ClientId: r.UserId, ClientSecret: clientSecret.Reveal(), Details: details,
	}, nil
}

// RemoveMachineSecret removes a machine user's secret.
func (s Server) RemoveMachineSecret(
	ctx context.Context, r *usersv1.RemoveMachineSecretRequest,
) (*usersv1.RemoveMachineSecretResponse, error) {
	details, err := s.NoteChange(ctx, base.OrgID(ctx), r.UserId, func(found *domain.User) (proto.Message, error) {
		return &usersv1.MachineSecretRemoved{}, found.RemoveSecret()
	})
	return &usersv1.RemoveMachineSecretResponse{Details: details}, err
}
