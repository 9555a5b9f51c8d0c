package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/postgres"
)

// IssueCode stores a code with its authorization. It deletes the request of the code, if that is stored. granted is the
// event. It returns domain.ErrRequestGone, and writes nothing, if the request is gone or the session has ended.
// IssueCode and a statement that ends the session wait for each other.
func (s Store) IssueCode(
	ctx context.Context, requestID string, a domain.Authorization, c domain.NewCode, granted proto.Message,
) error {
	args := authorizationArgs(a)
	args["request"], args["hash"], args["redirect_uri"] = requestID, c.Hash, c.RedirectURI
	args["code_challenge"], args["nonce"], args["code_expires_at"] = c.CodeChallenge, c.Nonce, c.ExpiresAt
	args["wants_logout"] = a.WantsLogout
	err := s.grant(ctx, a, granted, event.Statement{
		If: inSession + `
			and (@request = '' or exists (select from auth_requests where id = @request for update))`,
		SQL: `request as (delete from auth_requests using event where id = @request), ` + issued + `, ` + wants + `,
		code as (
			insert into codes (hash, authorization_id, redirect_uri, code_challenge, nonce, expires_at)
			select @hash, issued.id, @redirect_uri, @code_challenge, @nonce, @code_expires_at from issued
		)`,
		Args: args,
	})
	return postgres.Missing(err, domain.ErrRequestGone)
}

// inSession is an SQL condition: the person's session exists. It locks the session until the transaction ends.
const inSession = `exists (select from sessions where id = @session_id for share)`

// issued is SQL that writes the authorization of an event.
var issued = `issued as (
			insert into authorizations (` + authorizationFields + `)
			select ` + postgres.Each("@", authorizationFields) + ` from event returning id
		)`

// grant stores an authorization that a person gave. The person is the actor of the event. It returns pgx.ErrNoRows, and
// writes nothing, if the condition of the statement does not hold.
func (s Store) grant(ctx context.Context, a domain.Authorization, granted proto.Message, by event.Statement) error {
	by.AggregateID, by.OrganizationID = a.ID, a.OrgID
	_, err := s.journal.Create(caller.With(ctx, caller.Caller{UserID: a.UserID}), granted, by)
	return err
}

// Code returns a code by its hash, also one that was used or has expired. It returns domain.ErrUnknown for others.
func (s Store) Code(ctx context.Context, hash []byte) (domain.Code, error) {
	c, err := postgres.One[domain.Code](ctx, s.journal.DB, `select `+authorizationColumns+`, c.redirect_uri,
			c.code_challenge, c.nonce, c.expires_at as code_expires_at, c.used_at is not null as used
		from codes c join authorizations a on a.id = c.authorization_id where c.hash = @hash`,
		postgres.Args{"hash": hash})
	return c, postgres.Missing(err, domain.ErrUnknown)
}

// locked is SQL that locks the authorization @id. Every statement that writes several rows of an authorization locks it
// first, so that there is no deadlock.
const locked = `locked as (select id from authorizations where id = @id for update)`

// Redeem uses a code and stores its tokens. It returns domain.ErrMisused, and writes nothing, if the code was used
// before.
func (s Store) Redeem(ctx context.Context, a domain.Authorization, code []byte, tokens []domain.NewToken) error {
	args := postgres.Args{"id": a.ID, "code": code, "expires_at": a.ExpiresAt}
	writes := newTokens(args, s.journal.Now(), tokens)
	done, err := s.journal.DB.Exec(ctx, `with `+locked+`, used as (
			update codes c set used_at = @now from locked
			where c.authorization_id = locked.id and c.hash = @code and c.used_at is null
			returning c.authorization_id
		), issued as (
			update authorizations a set expires_at = @expires_at from used where a.id = used.authorization_id
			returning a.id
		), `+writes+` select from issued`, args)
	return wrote(done.RowsAffected(), err, domain.ErrMisused)
}

// RefreshToken returns a refresh token by its hash, also one that was used before. It returns domain.ErrUnknown for one
// that is unknown or has expired.
func (s Store) RefreshToken(ctx context.Context, hash []byte) (domain.RefreshToken, error) {
	now := s.journal.Now()
	t, err := postgres.One[domain.RefreshToken](ctx, s.journal.DB, `select `+authorizationColumns+`,
			t.scopes as token_scopes, t.seed, coalesce(t.used_at <= @retried, false) as used
		from tokens t join authorizations a on a.id = t.authorization_id
		where t.hash = @hash and t.kind = @kind and t.expires_at > @now`, postgres.Args{
		"hash": hash, "kind": domain.KindRefresh, "now": now, "retried": now.Add(-domain.RefreshRetry),
	})
	return t, postgres.Missing(err, domain.ErrUnknown)
}

// Rotate uses a refresh token, and stores the tokens that replace it. One of them may be stored already: the successor,
// after an earlier use. Rotate returns domain.ErrMisused, and writes nothing, if the first use was domain.RefreshRetry
// ago. Of the access tokens and of the used refresh tokens the newest domain.MaxTokens stay.
func (s Store) Rotate(ctx context.Context, a domain.Authorization, token []byte, tokens []domain.NewToken) error {
	now := s.journal.Now()
	args := postgres.Args{"id": a.ID, "token": token, "refresh": domain.KindRefresh, "most": domain.MaxTokens,
		"retried": now.Add(-domain.RefreshRetry)}
	writes := newTokens(args, now, tokens)
	done, err := s.journal.DB.Exec(ctx, `with `+locked+`, issued as (
			update tokens t set used_at = coalesce(t.used_at, @now) from locked
			where t.authorization_id = locked.id and t.hash = @token and t.kind = @refresh
				and (t.used_at is null or t.used_at > @retried)
			returning t.authorization_id as id
		), surplus as (
			delete from tokens where hash in (select hash from (
				select t.hash, row_number() over (partition by t.kind order by t.issued_at desc) as place
				from tokens t join issued on t.authorization_id = issued.id
				where t.hash <> @token and (t.kind <> @refresh or t.used_at is not null)
			) oldest where place >= @most)
		), `+writes+` select from issued`, args)
	return wrote(done.RowsAffected(), err, domain.ErrMisused)
}
