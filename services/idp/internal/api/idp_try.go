package api

import (
	"context"

	"herald/services/idp/internal/domain"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/search"
	"herald/shared/secret"
)

// TestIdp tries what a login at a provider needs.
func (a Idps) TestIdp(ctx context.Context, r *idpv1.IdpRequest) (*idpv1.TestIdpResponse, error) {
	i, err := a.Store.Idp(ctx, orgID(ctx), r.Id)
	if err != nil {
		return nil, err
	}
	plain, err := a.Keys.Open(i.ClientSecret, domain.SealedClientSecret, i.ID)
	if err != nil {
		return nil, err
	}
	return a.test(ctx, i, secret.NewText(string(plain))), nil
}

// TestNewDirectoryIdp does the same for the settings of a creation.
func (a Idps) TestNewDirectoryIdp(
	ctx context.Context, r *idpv1.CreateDirectoryIdpRequest,
) (*idpv1.TestIdpResponse, error) {
	s, err := settings(r)
	if err != nil {
		return nil, err
	}
	i := domain.Idp{OrgID: orgID(ctx), Name: r.Name, ClientID: r.ClientId, Settings: s}
	return a.test(ctx, i, secret.NewText(r.ClientSecret)), nil
}

func (a Idps) test(ctx context.Context, i domain.Idp, clientSecret secret.Text) *idpv1.TestIdpResponse {
	return &idpv1.TestIdpResponse{
		Findings: search.Each(a.Directory.Test(ctx, i, clientSecret), func(f domain.Finding) *idpv1.IdpTestFinding {
			return &idpv1.IdpTestFinding{Step: idpv1.IdpTestStep(f.Step), Ok: f.OK(), Message: f.Message,
				Settings: f.Settings}
		}),
	}
}
