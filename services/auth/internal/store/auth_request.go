package store

import (
	"context"

	"herald/services/auth/internal/domain"
	"herald/shared/postgres"
)

const authRequestFields = `id, client_id, redirect_uri, response_mode, state, nonce, code_challenge, scopes, prompts,
	max_age, login_hint, user_id, ui_locales, created_at, expires_at`

// AddAuthRequest stores a request that waits for a person.
func (s Store) AddAuthRequest(ctx context.Context, r domain.AuthRequest) error {
	_, err := s.journal.DB.Exec(ctx, `insert into auth_requests (`+authRequestFields+`)
		values (`+postgres.Each("@", authRequestFields)+`)`, postgres.Args{
		"id": r.ID, "client_id": r.ClientID, "redirect_uri": r.RedirectURI, "response_mode": r.ResponseMode,
		"state": r.State, "nonce": r.Nonce, "code_challenge": r.CodeChallenge, "scopes": list(r.Scopes),
		"prompts": list(r.Prompts), "max_age": r.MaxAge, "login_hint": r.LoginHint, "user_id": r.UserID,
		"ui_locales": list(r.UILocales), "created_at": r.CreatedAt, "expires_at": r.ExpiresAt,
	})
	return postgres.Fault(err)
}

// AuthRequest returns a request that waits for a person. It returns domain.ErrRequestGone if it has expired or somebody
// has logged in.
func (s Store) AuthRequest(ctx context.Context, id string) (domain.AuthRequest, error) {
	r, err := postgres.One[domain.AuthRequest](ctx, s.journal.DB,
		`select `+authRequestFields+` from auth_requests where id = @id and expires_at > @now`,
		postgres.Args{"id": id, "now": s.journal.Now()})
	return r, postgres.Missing(err, domain.ErrRequestGone)
}

// EndAuthRequest removes a request that was answered with an error. It returns domain.ErrRequestGone if there is no
// such request.
func (s Store) EndAuthRequest(ctx context.Context, id string) error {
	done, err := s.journal.DB.Exec(ctx, `delete from auth_requests where id = @id`, postgres.Args{"id": id})
	return wrote(done.RowsAffected(), err, domain.ErrRequestGone)
}

// list returns an empty list for nil.
func list(values []string) []string {
	if values == nil {
		return []string{}
	}
	return values
}
