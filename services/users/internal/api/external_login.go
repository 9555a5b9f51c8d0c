package api

import (
	"context"

	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// CheckExternalAccount returns who is linked to an account at an identity provider.
func (u Users) CheckExternalAccount(
	ctx context.Context, r *usersv1.CheckExternalAccountRequest,
) (*usersv1.CheckExternalAccountResponse, error) {
	found, err := u.Store.ExternalLogin(ctx, r.IdpId, r.ExternalUserId)
	if err == nil {
		err = found.CheckTenant(r.TenantId, r.OneTenant)
	}
	if err != nil {
		return nil, err
	}
	return &usersv1.CheckExternalAccountResponse{
		UserId: found.ID, OrgId: found.OrgID, State: usersv1.UserState(found.State),
		OrgActive: found.OrgState == domain.OrgActive, Generation: uint64(found.Generation),
		OrgGeneration: uint64(found.OrgGeneration), Credential: found.Credential, NeedsFactor: found.OTPReady,
	}, nil
}
