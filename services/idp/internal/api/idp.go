package api

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	idpv1 "herald/shared/gen/herald/idp/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// GetIdp reads a provider.
func (a Idps) GetIdp(ctx context.Context, r *idpv1.IdpRequest) (*idpv1.GetIdpResponse, error) {
	i, err := a.Store.Idp(ctx, orgID(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	return &idpv1.GetIdpResponse{Idp: a.idp(i)}, nil
}

// SearchIdps lists the providers of the organization acted on.
func (a Idps) SearchIdps(ctx context.Context, r *idpv1.SearchIdpsRequest) (*idpv1.SearchIdpsResponse, error) {
	p, err := search.Bounds(r.Query, a.MaxLimit)
	if err != nil {
		return nil, err
	}
	query := a.Store.Idps(orgID(ctx))
	for _, q := range r.Queries {
		if f := q.NameQuery; f != nil {
			query.Text(store.IdpName, f.Method, f.Name)
		}
		if f := q.StateQuery; f != nil {
			query.Where("state = ?", f.State)
		}
	}
	list, err := a.Store.SearchIdps(ctx, query, p)
	if err != nil {
		return nil, err
	}
	return &idpv1.SearchIdpsResponse{Details: list.Details(), Result: search.Each(list.Rows, a.idp)}, nil
}

// DeactivateIdp removes a provider from the login page.
func (a Idps) DeactivateIdp(ctx context.Context, r *idpv1.IdpRequest) (*idpv1.IdpResponse, error) {
	return a.change(ctx, r.Id, func(i *domain.Idp) (proto.Message, error) {
		return &idpv1.IdpDeactivated{}, i.Deactivate()
	})
}

// ReactivateIdp shows a provider on the login page again.
func (a Idps) ReactivateIdp(ctx context.Context, r *idpv1.IdpRequest) (*idpv1.IdpResponse, error) {
	return a.change(ctx, r.Id, func(i *domain.Idp) (proto.Message, error) {
		return &idpv1.IdpReactivated{}, i.Reactivate()
	})
}

// change changes a provider of the organization acted on.
func (a Idps) change(
	ctx context.Context, id string, change func(*domain.Idp) (proto.Message, error),
) (*idpv1.IdpResponse, error) {
	i, err := a.Store.ChangeIdp(ctx, orgID(ctx), id, change)
	if err != nil {
		return nil, err
	}
	return &idpv1.IdpResponse{Details: resource.Changed(i.Record, i.OrgID)}, nil
}

// RemoveIdp removes a provider. When the service users receives the event, it removes the links to the provider.
func (a Idps) RemoveIdp(ctx context.Context, r *idpv1.IdpRequest) (*idpv1.IdpResponse, error) {
	i, err := a.Store.RemoveIdp(ctx, orgID(ctx), r.Id, &idpv1.IdpRemoved{})
	if err != nil {
		return nil, err
	}
	return &idpv1.IdpResponse{Details: resource.Changed(i.Record, i.OrgID)}, nil
}

// SearchIdpChanges lists what happened to a provider.
func (a Idps) SearchIdpChanges(
	ctx context.Context, r *idpv1.SearchIdpChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := search.Bounds(r.Query, a.MaxLimit)
	if err != nil {
		return nil, err
	}
	if _, err := a.Store.Idp(ctx, orgID(ctx), r.Id); err != nil {
		return nil, err
	}
	return a.Store.Changes(ctx, orgID(ctx), r.Id, p)
}

// ResolveIdps returns the requested providers that an organization has, in any state.
func (a Idps) ResolveIdps(ctx context.Context, r *idpv1.ResolveIdpsRequest) (*idpv1.ResolveIdpsResponse, error) {
	found, err := a.Store.Some(ctx, r.OrgId, r.IdpIds)
	if err != nil {
		return nil, err
	}
	return &idpv1.ResolveIdpsResponse{Idps: search.Each(found, a.idp)}, nil
}

// ReadExpirations returns the client secrets that end soon.
func (a Idps) ReadExpirations(
	ctx context.Context, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	return a.Store.Expirations(ctx, r)
}

// idp returns the message for a provider. Its tenant has either the id or the type.
func (a Idps) idp(i domain.Idp) *idpv1.Idp {
	tenant := &idpv1.DirectoryTenant{}
	if i.TenantID != "" {
		tenant.TenantId = &i.TenantID
	} else {
		tenant.TenantType = idpv1.DirectoryTenantType(i.TenantType).Enum()
	}
	var ends *timestamppb.Timestamp
	if i.SecretExpiresAt != nil {
		ends = timestamppb.New(*i.SecretExpiresAt)
	}
	return &idpv1.Idp{
		ClientSecretExpiration: ends,

		Id: i.ID, Details: resource.Details(i.Record, i.OrgID), State: idpv1.IdpState(i.State), Name: i.Name,
		Type: idpv1.IdpType_IDP_TYPE_DIRECTORY, RedirectUri: a.Callback,
		Directory: &idpv1.DirectoryConfig{
			ClientId: i.ClientID, Tenant: tenant, EmailVerified: i.EmailVerified, Scopes: i.Scopes,
		},
		ProviderOptions: options(i),
	}
}

func options(i domain.Idp) *idpv1.IdpProviderOptions {
	return &idpv1.IdpProviderOptions{
		IsLinkingAllowed: i.IsLinkingAllowed, IsCreationAllowed: i.IsCreationAllowed,
		IsAutoCreation: i.IsAutoCreation, IsAutoUpdate: i.IsAutoUpdate,
	}
}
