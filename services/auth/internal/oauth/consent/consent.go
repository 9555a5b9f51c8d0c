// Package consent asks a person once what an application of another organization gets of them. All ways to tokens
// use it: the authorization endpoint, devices, refresh tokens, and whoever checks a token.
package consent

import (
	"context"
	"errors"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// Consents are what people have agreed to.
type Consents struct {
	Store    store.Store
	Upstream *upstream.Services
}

// Needed reports whether a person who has logged in must be asked before a client gets tokens. A person who may not
// get tokens of the project is not asked.
func (c Consents) Needed(
	ctx context.Context, client domain.Client, request domain.AuthRequest, s domain.Session,
) (bool, error) {
	if own := s.OrgID == client.OrgID; own || request.ActsAsUser() {
		return request.MustAgree(own && client.Trusted, own, false), nil
	}
	a := client.Asks(request.Scopes)
	a.UserID, a.OrgID = s.UserID, s.OrgID
	reach, err := c.Upstream.Reach(ctx, a)
	if err != nil || a.Admit(reach) != nil {
		return false, err
	}
	given, err := c.Store.Consent(ctx, s.UserID, client.ID)
	return err == nil && request.MustAgree(false, reach.Agreed(), given.Covers(request.Scopes, client.Project.ID)), err
}

// Stands returns fault.ErrUnauthenticated for an authorization that would not be given today, or for which the person
// would have to be asked today. That is so after they took their consent back. It is also so after the end of a project
// grant, if the client got tokens for the project by the grant, or if nobody was asked because of it.
func (c Consents) Stands(ctx context.Context, a domain.Authorization) error {
	if !a.Foreign() && len(a.Named()) == 0 {
		return nil
	}
	reach, err := c.Upstream.Reach(ctx, a)
	if fault.From(err).Code == fault.NotFound {
		return fault.ErrUnauthenticated.Because(err)
	}
	if err != nil {
		return err
	}
	if refused := a.Admit(reach); refused != nil || a.Grounds != a.GroundsIn(reach) {
		return fault.ErrUnauthenticated.Because(refused)
	}
	if !a.Foreign() || reach.Agreed() {
		return nil
	}
	given, err := c.Store.Consent(ctx, a.UserID, a.ClientID)
	if err == nil && !given.Covers(a.Scopes, a.ProjectID) {
		err = fault.ErrUnauthenticated
	}
	return err
}

// Admits returns fault.ErrUnauthenticated for a person who would get no tokens of their own organization's application
// today: its project, as it is now, checks who gets them. For other authorizations Stands has asked. Nothing ends, as
// after the loss of a role: who gets tokens again may use those that they had.
func (c Consents) Admits(ctx context.Context, p domain.Project, a domain.Authorization) error {
	if a.Foreign() || len(a.Named()) > 0 {
		return nil
	}
	err := c.Upstream.Admit(ctx, p, &a)
	if _, refused := errors.AsType[*domain.Refusal](err); refused || fault.From(err).Code == fault.NotFound {
		return fault.ErrUnauthenticated.Because(err)
	}
	return err
}

// Give stores that a person has agreed to what a client asks for. For a client of the own organization nothing is
// stored, because its people are never asked what it may know.
func (c Consents) Give(ctx context.Context, client domain.Client, scopes []string, s domain.Session) error {
	if s.OrgID == client.OrgID {
		return nil
	}
	scopes = domain.PersonalScopes(scopes, client.Project.ID)
	return c.Store.GiveConsent(ctx, domain.Consent{
		UserID: s.UserID, ClientID: client.ID, OrgID: s.OrgID, ClientOrgID: client.OrgID, Scopes: scopes,
	}, &authv1.ConsentGiven{UserId: s.UserID, ClientId: client.ID, Scopes: scopes})
}
