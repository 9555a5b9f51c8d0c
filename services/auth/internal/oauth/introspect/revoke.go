package introspect

import (
	"context"
	"errors"
	"net/http"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/secret"
)

// revoke ends a token. The answer is the same for one that is unknown or has ended (RFC 7009 section 2.2).
func (e Endpoint) revoke(w http.ResponseWriter, r *http.Request) {
	if err := e.end(r); err != nil {
		e.revocations.WithLabelValues(protocol.Refusal(err).Code).Inc()
		protocol.Fail(e.Log, w, r, err)
		return
	}
	e.revocations.WithLabelValues("ok").Inc()
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (e Endpoint) end(r *http.Request) error {
	f, text, err := tokenOf(r)
	if err != nil {
		return err
	}
	client, err := e.Clients.Authenticate(r.Context(), r, f)
	if err != nil {
		return err
	}
	if secret.PersonalAccessToken.Begins(text) {
		return domain.ErrUnsupportedTokenType.Say("a personal access token ends where it was made, not here")
	}
	t, kind, err := e.revocable(r.Context(), text)
	switch {
	case fault.From(err).Code == fault.Unauthenticated:
		return nil
	case err != nil:
		return err
	case t.ClientID != client.ID: // RFC 7009 section 2.1: this is an error
		return domain.ErrInvalidGrant.Say("the token was issued to another client")
	}
	return e.write(r.Context(), t, kind, secret.Hash(text))
}

// revocable returns a token as find does, and also a refresh token that was used: its client may not know the next one.
func (e Endpoint) revocable(ctx context.Context, text string) (domain.Token, domain.TokenKind, error) {
	if !secret.RefreshToken.WellFormed(text) {
		return e.find(ctx, text)
	}
	t, err := e.Tokens.Store.RefreshToken(ctx, secret.Hash(text))
	if errors.Is(err, domain.ErrUnknown) {
		err = fault.ErrUnauthenticated
	}
	return domain.Token{Authorization: t.Authorization}, domain.KindRefresh, err
}

// write ends a token: a refresh token with all that belongs to its authorization, an access token alone. The last token
// of what a person gave an application ends that too, with all that the application made in the person's name.
func (e Endpoint) write(ctx context.Context, t domain.Token, kind domain.TokenKind, hash []byte) error {
	ended := &authv1.AuthorizationEnded{
		UserId: t.UserID, ClientId: t.ClientID, By: authv1.AuthorizationEnd_AUTHORIZATION_END_REVOKED,
	}
	if kind == domain.KindRefresh {
		return e.Tokens.Store.End(ctx, t.Authorization, ended)
	}
	if t.OfApplication() && t.UserID != "" {
		last, err := e.Tokens.Store.EndLast(ctx, t.Authorization, hash, ended)
		if last || err != nil {
			return err
		}
	}
	return e.Tokens.Store.RevokeToken(ctx, t, hash, &authv1.TokenRevoked{UserId: t.UserID, ClientId: t.ClientID})
}
