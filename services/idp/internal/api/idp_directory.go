package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/idp/internal/domain"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/resource"
	"herald/shared/secret"
)

// CreateDirectoryIdp creates a provider that nobody sees yet.
func (a Idps) CreateDirectoryIdp(
	ctx context.Context, r *idpv1.CreateDirectoryIdpRequest,
) (*idpv1.CreateDirectoryIdpResponse, error) {
	s, err := settings(r)
	if err != nil {
		return nil, err
	}
	i := domain.Idp{
		ID: resource.NewID(), OrgID: orgID(ctx), State: domain.IdpInactive, Name: r.Name, ClientID: r.ClientId,
		Settings: s,
	}
	i.SetSecret(secret.NewText(r.ClientSecret), a.Keys)
	record, err := a.Store.CreateIdp(ctx, i, &idpv1.IdpCreated{})
	if err != nil {
		return nil, err
	}
	return &idpv1.CreateDirectoryIdpResponse{Id: i.ID, Details: resource.Details(record, i.OrgID)}, nil
}

// UpdateDirectoryIdp replaces a provider's settings. It keeps the name, client id or client secret if
// the request has none.
func (a Idps) UpdateDirectoryIdp(
	ctx context.Context, r *idpv1.UpdateDirectoryIdpRequest,
) (*idpv1.IdpResponse, error) {
	s, err := settings(r)
	if err != nil {
		return nil, err
	}
	return a.change(ctx, r.Id, func(i *domain.Idp) (proto.Message, error) {
		changed := i.Change(domain.Update{
			Name: r.Name, ClientID: r.ClientId, ClientSecret: secret.NewText(r.ClientSecret), Settings: s,
		}, a.Keys)
		if changed == nil {
			return nil, nil
		}
		return &idpv1.IdpChanged{Changed: changed}, nil
	})
}

// settings returns the settings of a creation or a change.
func settings(r interface {
	GetTenant() *idpv1.DirectoryTenant
	GetEmailVerified() bool
	GetScopes() []string
	GetProviderOptions() *idpv1.IdpProviderOptions
	GetClientSecretExpiration() *timestamppb.Timestamp
}) (domain.Settings, error) {
	t, options := r.GetTenant(), r.GetProviderOptions()
	var tenantID *string
	if t != nil {
		tenantID = t.TenantId
	}
	var ends *time.Time
	if at := r.GetClientSecretExpiration(); at != nil {
		ends = new(at.AsTime().Truncate(time.Microsecond)) // the precision of Postgres
	}
	tenant, err := domain.NewTenant(domain.TenantType(t.GetTenantType()), tenantID)
	return domain.Settings{
		Tenant: tenant, EmailVerified: r.GetEmailVerified(), Scopes: r.GetScopes(), SecretExpiresAt: ends,
		Options: domain.Options{
			IsLinkingAllowed: options.GetIsLinkingAllowed(), IsCreationAllowed: options.GetIsCreationAllowed(),
			IsAutoCreation: options.GetIsAutoCreation(), IsAutoUpdate: options.GetIsAutoUpdate(),
		},
	}.WithDefaults(), err
}
