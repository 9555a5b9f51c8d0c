package authorize

import (
	"context"
	"errors"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/upstream"
	"herald/shared/resource"
	"herald/shared/secret"
)

// issue returns a code for a person who has logged in, if the person is active and may get tokens of the project. The
// request can be used only once. For a person who is not active it returns domain.ErrLoginRequired. agreed reports
// whether the person was asked. Who has a role is always asked before a client acts for them, also a trusted one:
// otherwise whoever chooses its redirect URIs would get that role. Then issue returns domain.ErrConsentRequired.
func (e *Endpoint) issue(
	ctx context.Context, c domain.Client, request domain.AuthRequest, s domain.Session, agreed bool,
) (secret.Text, error) {
	a, err := e.Authorization(ctx, c, request.Scopes, s)
	if err != nil {
		return secret.Text{}, err
	}
	a.ByTrust = !agreed && request.ActsAsUser()
	if a.ByTrust && a.Manages {
		return secret.Text{}, errMustAgree
	}
	a.ExpiresAt = e.Now().Add(domain.CodeLifetime)
	code := secret.AuthorizationCode.New()
	err = e.Store.IssueCode(ctx, request.ID, a, domain.NewCode{
		Hash: secret.Hash(code.Reveal()), RedirectURI: request.RedirectURI, CodeChallenge: request.CodeChallenge,
		Nonce: request.Nonce, ExpiresAt: a.ExpiresAt,
	}, protocol.Granted(a))
	if errors.Is(err, domain.ErrRequestGone) && request.ID == "" {
		return secret.Text{}, domain.ErrLoginRequired.Say("the login has ended")
	}
	return code, err
}

// Authorization returns what a person who has logged in gives a client, without its expiry. It returns
// domain.ErrLoginRequired for a person who is not active any more, and domain.ErrAccessDenied for a person who may not
// get tokens of one of the projects.
func (e *Endpoint) Authorization(
	ctx context.Context, c domain.Client, scopes []string, s domain.Session,
) (domain.Authorization, error) {
	user, err := e.Upstream.User(ctx, s.UserID, upstream.Proof{Credential: s.Credential}, s.OrgID, c.OrgID)
	if errors.Is(err, upstream.ErrNoUser) {
		return domain.Authorization{}, domain.ErrLoginRequired.Say("the user is gone")
	}
	if err != nil {
		return domain.Authorization{}, err
	}
	a := domain.Authorization{
		ID: resource.NewID(), ClientID: c.ID, ClientGeneration: c.Generation, ClientOrgID: c.OrgID,
		ClientOrgGeneration: user.Orgs[c.OrgID].Generation, ProjectID: c.Project.ID,
		ProjectGeneration: c.Project.Generation, UserID: s.UserID, UserGeneration: s.UserGeneration, OrgID: s.OrgID,
		OrgGeneration: s.OrgGeneration, SessionID: s.ID, WantsLogout: c.BackChannelLogoutURI != "", Scopes: scopes,
		Audience: domain.Audience(c.ID, c.Project.ID, scopes), AuthTime: s.AuthTime, AMR: s.AMR,
		Credential: s.Credential, Manages: user.Manages, Trusted: c.Trusted && c.OrgID == s.OrgID,
	}
	if !a.Alive(c, user) {
		return domain.Authorization{}, domain.ErrLoginRequired.Say(
			"the user or an organization is not active, or has changed")
	}
	err = e.Upstream.Admit(ctx, c.Project, &a)
	return a, err
}
