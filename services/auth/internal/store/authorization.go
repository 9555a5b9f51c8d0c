package store

import (
	"context"
	"maps"
	"strings"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
	"herald/shared/postgres"
)

// authorizationFields are the columns of domain.Authorization.
const authorizationFields = `id, client_id, client_generation, project_id, project_generation,
	client_org_id, client_org_generation, user_id, user_generation, org_id, org_generation, session_id,
	scopes, by_trust, trusted, audience, grounds, auth_time, amr, credential, expires_at`

var authorizationColumns = postgres.Each("a.", authorizationFields)

// use is SQL that stores the use of an assertion. used has a row if the assertion was not used before.
const use = `used as (
		insert into used_assertions (issuer, id, expires_at) select @issuer, @assertion, @until where @assertion <> ''
		on conflict (issuer, id) do nothing returning id
	)`

func useArgs(u domain.Use) postgres.Args {
	return postgres.Args{"issuer": u.Issuer, "assertion": u.ID, "until": u.Until}
}

// Use stores the use of an assertion. It returns domain.ErrReplayed if it was used before.
func (s Store) Use(ctx context.Context, u domain.Use) error {
	if u.ID == "" {
		return nil
	}
	done, err := s.journal.DB.Exec(ctx, `with `+use+` select from used`, useArgs(u))
	return wrote(done.RowsAffected(), err, domain.ErrReplayed)
}

// Issue stores an authorization with its first tokens, and the use of the assertion with which it was requested. It
// returns domain.ErrReplayed, and writes nothing, if the assertion was used before.
func (s Store) Issue(ctx context.Context, a domain.Authorization, u domain.Use, tokens ...domain.NewToken) error {
	args := useArgs(u)
	maps.Copy(args, authorizationArgs(a))
	done, err := s.journal.DB.Exec(ctx, `with `+use+`, issued as (
			insert into authorizations (`+authorizationFields+`)
			select `+postgres.Each("@", authorizationFields)+` where @assertion = '' or exists (select from used)
			returning id
		), `+newTokens(args, s.journal.Now(), tokens)+` select from issued`, args)
	return wrote(done.RowsAffected(), err, domain.ErrReplayed)
}

func authorizationArgs(a domain.Authorization) postgres.Args {
	return postgres.Args{
		"id": a.ID, "client_id": a.ClientID, "client_generation": a.ClientGeneration, "project_id": a.ProjectID,
		"project_generation": a.ProjectGeneration, "client_org_id": a.ClientOrgID,
		"client_org_generation": a.ClientOrgGeneration, "user_id": a.UserID, "user_generation": a.UserGeneration,
		"org_id": a.OrgID, "org_generation": a.OrgGeneration, "session_id": a.SessionID, "scopes": a.Scopes,
		"by_trust": a.ByTrust, "trusted": a.Trusted, "audience": a.Audience, "grounds": a.Grounds,
		"auth_time": a.AuthTime, "amr": a.AMR, "credential": a.Credential, "expires_at": a.ExpiresAt,
	}
}

// newTokens returns SQL that stores tokens of the authorization that issued returns, if they are not stored yet. It
// adds the arguments to args.
func newTokens(args postgres.Args, now time.Time, tokens []domain.NewToken) string {
	var (
		hashes  [][]byte
		kinds   []int16
		scopes  []string
		expires []time.Time
	)
	for _, t := range tokens {
		hashes, kinds = append(hashes, t.Hash), append(kinds, int16(t.Kind))
		scopes, expires = append(scopes, strings.Join(t.Scopes, " ")), append(expires, t.ExpiresAt)
	}
	args["hashes"], args["kinds"], args["token_scopes"], args["token_expiries"] = hashes, kinds, scopes, expires
	args["now"] = now
	return `new_tokens as (
			insert into tokens (hash, kind, authorization_id, scopes, issued_at, expires_at)
			select t.hash, t.kind, issued.id, string_to_array(t.scopes, ' '), @now, t.expires_at
			from issued, unnest(@hashes::bytea[], @kinds::smallint[], @token_scopes::text[],
				@token_expiries::timestamptz[]) t (hash, kind, scopes, expires_at)
			on conflict (hash) do nothing
		)`
}

// Token returns a stored token of a kind by its hash, with its authorization. It returns
// fault.ErrUnauthenticated for one that is unknown, has expired or was used.
func (s Store) Token(ctx context.Context, kind domain.TokenKind, hash []byte) (domain.Token, error) {
	t, err := postgres.One[domain.Token](ctx, s.journal.DB, `select `+authorizationColumns+`,
			t.scopes as token_scopes, t.issued_at, t.expires_at as token_expires_at
		from tokens t join authorizations a on a.id = t.authorization_id
		where t.hash = @hash and t.kind = @kind and t.used_at is null and t.expires_at > @now`,
		postgres.Args{"hash": hash, "kind": kind, "now": s.journal.Now()})
	return t, postgres.Missing(err, fault.ErrUnauthenticated)
}

// AuthorizationOfJWT returns the authorization of a JSON Web Token by its id. It returns fault.ErrUnauthenticated if it
// has ended, or the token with that id was revoked.
func (s Store) AuthorizationOfJWT(ctx context.Context, id, tokenID string) (domain.Authorization, error) {
	a, err := postgres.One[domain.Authorization](ctx, s.journal.DB, `select `+authorizationColumns+`
		from authorizations a
		where a.id = @id and not exists (select from revoked_jwts r where r.id = @token_id)`,
		postgres.Args{"id": id, "token_id": tokenID})
	return a, postgres.Missing(err, fault.ErrUnauthenticated)
}

// Revoked reports whether a JSON Web Token was revoked.
func (s Store) Revoked(ctx context.Context, tokenID string) (revoked bool, err error) {
	err = s.journal.DB.QueryRow(ctx, `select exists (select from revoked_jwts where id = @id)`,
		postgres.Args{"id": tokenID}).Scan(&revoked)
	return revoked, postgres.Fault(err)
}

// wrote returns the error otherwise if a statement wrote nothing.
func wrote(rows int64, err error, otherwise error) error {
	if err == nil && rows == 0 {
		return otherwise
	}
	return postgres.Fault(err)
}
