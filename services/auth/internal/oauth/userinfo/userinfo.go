// Package userinfo answers a client with the claims of the user who logged in (OpenID Connect Core section 5.3).
package userinfo

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/accesstoken"
	"herald/services/auth/internal/oauth/claims"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/protocol"
	"herald/shared/fault"
	"herald/shared/secret"
)

// Path is where the endpoint is.
const Path = "/oidc/v1/userinfo"

// Endpoint is the endpoint.
type Endpoint struct {
	Tokens accesstoken.Tokens
	Claims claims.Claims
	Log    *slog.Logger
}

// Mount answers the endpoint's path.
func (e Endpoint) Mount(mux *http.ServeMux) {
	mux.HandleFunc(Path, protocol.Only(e.serve, http.MethodGet, http.MethodPost))
}

// Part returns what clients find by discovery.
func (e Endpoint) Part() discovery.Part {
	return discovery.Part{
		Paths: map[string]string{"userinfo_endpoint": Path},
		Lists: map[string][]string{"claims_supported": domain.ClaimsSupported()},
	}
}

var (
	errNoToken = domain.ErrInvalidToken.Say("an access token is needed")
	errInvalid = domain.ErrInvalidToken.Say("the access token is unknown, has expired or was revoked")
	errScope   = domain.ErrInsufficientScope.Say("the scope openid is needed")
)

func (e Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	answer, err := e.about(r)
	if err == nil {
		protocol.JSON(w, http.StatusOK, answer)
		return
	}
	if fault.From(err).Code == fault.Unauthenticated {
		err = errInvalid
	}
	if refusal := protocol.Refusal(err); !refusal.Failure() {
		w.Header().Set("WWW-Authenticate", challenge(refusal))
	}
	protocol.Fail(e.Log, w, r, err)
}

// about returns the claims that the token of a request allows. It refuses a token of an application that logged in by
// itself, because that token has no user.
func (e Endpoint) about(r *http.Request) (domain.Claims, error) {
	text, err := bearer(r)
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return nil, errNoToken
	case secret.PersonalAccessToken.Begins(text):
		return e.personal(r.Context(), text)
	}
	t, err := e.Tokens.Find(r.Context(), text)
	switch {
	case err != nil:
		return nil, err
	case t.UserID == "":
		return nil, errInvalid
	case !slices.Contains(t.TokenScopes, domain.ScopeOpenID):
		return nil, errScope
	}
	client, user, err := e.Tokens.Check(r.Context(), t.Authorization)
	if err != nil {
		return nil, err
	}
	found, err := e.Claims.Userinfo(r.Context(), client, user, t)
	if err != nil {
		return nil, err
	}
	found["sub"] = user.ID
	return found, nil
}

// personal returns the claims that a personal access token allows: only who the user is, because it has no scopes for
// more.
func (e Endpoint) personal(ctx context.Context, text string) (domain.Claims, error) {
	if !secret.PersonalAccessToken.WellFormed(text) {
		return nil, errInvalid
	}
	userID, scopes, err := e.Tokens.Upstream.PersonalToken(ctx, secret.Hash(text))
	if err != nil {
		return nil, err
	}
	if !slices.Contains(scopes, domain.ScopeOpenID) {
		return nil, errScope
	}
	return domain.Claims{"sub": userID}, nil
}
