package api

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/idp/internal/directory"
	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/idpfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/outbound"
	"herald/shared/search"
	"herald/shared/secret"
)

// ListOfferedIdps lists the active providers of an organization.
func (a Idps) ListOfferedIdps(
	ctx context.Context, r *idpv1.ListOfferedIdpsRequest,
) (*idpv1.ListOfferedIdpsResponse, error) {
	found, err := a.Store.Offered(ctx, r.OrgId)
	if err != nil {
		return nil, err
	}
	return &idpv1.ListOfferedIdpsResponse{Idps: search.Each(found, func(i domain.Idp) *idpv1.OfferedIdp {
		return &idpv1.OfferedIdp{Id: i.ID, Name: i.Name, IsLinkingAllowed: i.Options.IsLinkingAllowed}
	})}, nil
}

// BeginIdpLogin returns where a browser goes for a login.
func (a Idps) BeginIdpLogin(
	ctx context.Context, r *idpv1.BeginIdpLoginRequest,
) (*idpv1.BeginIdpLoginResponse, error) {
	i, err := a.active(ctx, r.OrgId, r.IdpId)
	if err != nil {
		return nil, err
	}
	address, err := a.Directory.Address(ctx, i, directory.Login{
		State: r.State, Nonce: r.Nonce, Challenge: r.CodeChallenge, Again: r.Again,
	})
	if err != nil {
		return nil, a.noted(ctx, i, err)
	}
	return &idpv1.BeginIdpLoginResponse{Address: address, IdpName: i.Name}, nil
}

// FinishIdpLogin returns the external account of the person whose browser came back from the directory.
func (a Idps) FinishIdpLogin(
	ctx context.Context, r *idpv1.FinishIdpLoginRequest,
) (*idpv1.FinishIdpLoginResponse, error) {
	i, err := a.active(ctx, r.OrgId, r.IdpId)
	if err != nil {
		return nil, err
	}
	plain, err := a.Keys.Open(i.ClientSecret, domain.SealedClientSecret, i.ID)
	if err != nil {
		return nil, err
	}
	found, err := a.Directory.Account(ctx, i, secret.NewText(string(plain)), directory.Answer{
		Code: r.Code, Nonce: r.Nonce, Verifier: r.CodeVerifier,
	})
	if err != nil {
		return nil, a.noted(ctx, i, err)
	}
	return &idpv1.FinishIdpLoginResponse{
		Account: &idpv1.ExternalAccount{
			TenantId: found.TenantID, ExternalUserId: found.ObjectID, UserName: found.UserName,
			DisplayName: found.DisplayName, FirstName: found.First, LastName: found.Last, Email: found.Email,
			EmailVerified: i.EmailVerified, PreferredLanguage: found.PreferredLanguage, AuthTime: found.AuthTime,
			Amr: found.AMR, NickName: found.Nick, Phone: found.Phone, PhoneVerified: found.PhoneVerified,
		},
		IdpName: i.Name, ProviderOptions: options(i), OnlyTenant: i.TenantID,
	}, nil
}

// NoteRefusedLogin counts a login that was refused at a provider.
func (a Idps) NoteRefusedLogin(
	ctx context.Context, r *idpv1.NoteRefusedLoginRequest,
) (*idpv1.NoteRefusedLoginResponse, error) {
	return &idpv1.NoteRefusedLoginResponse{},
		a.Store.NoteRefusedLogin(ctx, r.OrgId, r.IdpId, r.Reason, a.Now(), LoginRefused)
}

// LoginRefused returns the event for refused logins.
func LoginRefused(r *store.Refusals) (proto.Message, error) {
	e := &idpv1.IdpLoginRefused{Reason: r.Reasons[0], Since: timestamppb.New(r.Since)}
	for i, reason := range r.Reasons {
		e.Count += uint32(r.Counts[i])
		e.Reasons = append(e.Reasons, &idpv1.RefusedLogins{Reason: reason, Count: uint32(r.Counts[i])})
	}
	return e, nil
}

// active returns a provider. It returns ErrIdpNotActive if nobody can log in with it.
func (a Idps) active(ctx context.Context, orgID, id string) (domain.Idp, error) {
	i, err := a.Store.Idp(ctx, orgID, id)
	if err == nil && i.State != domain.IdpActive {
		err = idpfault.ErrIdpNotActive
	}
	return i, err
}

// noted logs why a login failed, and returns err. It does not log an outage of the directory, because that is already
// in the log. From the answer of the directory it logs only the names of errors and tenants.
func (a Idps) noted(ctx context.Context, i domain.Idp, err error) error {
	if f := fault.From(err); f.Code != fault.Internal && !errors.Is(err, directory.ErrOutage) {
		a.Log.WarnContext(ctx, "a login at an identity provider failed", "idp", i.ID, "org", i.OrgID, "err",
			outbound.Brief(f))
	}
	return err
}
