package store

import (
	"context"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// notify is SQL that queues notifications that the sessions @locked have ended, for the applications that want them.
const notify = `notified as (
		insert into logouts (session_id, client_id, client_org_id, user_id, due_at)
		select c.session_id, c.client_id, c.client_org_id, s.user_id, @ended_at
		from session_clients c join sessions s on s.id = c.session_id where c.session_id = any (@locked)
		on conflict (session_id, client_id) do nothing
	)`

// wants is SQL that stores that a client wants to be notified when the session ends, for the authorization of issued.
const wants = `wants as (
		insert into session_clients (session_id, client_id, client_org_id)
		select @session_id, @client_id, @client_org_id from issued where @wants_logout
		on conflict (session_id, client_id) do nothing
	)`

// login is what sessions and authorizations have of the login of a person.
type login struct {
	UserID         string
	UserGeneration int64
	OrgID          string
	OrgGeneration  int64
	Credential     string
}

// LoginsOfUser returns a session for each combination of generations and credential of a user's sessions and
// authorizations, with these fields only. An authorization can last longer than its session.
func (s Store) LoginsOfUser(ctx context.Context, userID string) (all []domain.Session, err error) {
	const fields = `user_id, user_generation, org_id, org_generation, credential`
	logins, err := postgres.All[login](ctx, s.journal.DB, `select `+fields+` from sessions where user_id = @user_id
		union select `+fields+` from authorizations a where user_id = @user_id and `+given,
		postgres.Args{"user_id": userID})
	for _, l := range logins {
		all = append(all, domain.Session{UserID: l.UserID, UserGeneration: l.UserGeneration, OrgID: l.OrgID,
			OrgGeneration: l.OrgGeneration, Credential: l.Credential})
	}
	return all, err
}

// EndLoginsLike ends a batch of the sessions and authorizations of a user that have the same generations and credential
// as a session. It reports whether there may be more.
func (s Store) EndLoginsLike(ctx context.Context, cause event.Delivery, n domain.Session) (more bool, err error) {
	return s.endLogins(ctx, cause, `user_id = @user_id and user_generation = @user_generation and org_id = @org_id
		and org_generation = @org_generation and credential = @credential`, postgres.Args{
		"user_id": n.UserID, "user_generation": n.UserGeneration, "org_id": n.OrgID,
		"org_generation": n.OrgGeneration, "credential": n.Credential,
	})
}

// endLogins ends a batch of the sessions and authorizations for which a condition holds.
func (s Store) endLogins(
	ctx context.Context, cause event.Delivery, where string, args postgres.Args,
) (more bool, err error) {
	more, err = s.endSessions(ctx, cause, where, args)
	if err != nil {
		return false, err
	}
	full, err := s.endAuthorizations(ctx, cause, where, args)
	return more || full, err
}

// endSessions ends a batch of sessions with the authorizations given in them, and queues the logouts. A statement that
// issues a code locks the session. The lock here waits for it, so the statement after it sees what it wrote.
func (s Store) endSessions(
	ctx context.Context, cause event.Delivery, where string, args postgres.Args,
) (more bool, err error) {
	return s.endBatch(ctx, cause, "sessions", where, args, event.Statement{
		Along: endedEvents(`a.session_id = any (@locked)`),
		SQL: notify + `, authorizations_too as (
				delete from authorizations using event where session_id = any (@locked)
			), gone as (delete from sessions using event where id = any (@locked))`,
		Args: postgres.Args{"by": domain.EndChanged, "ended_at": s.journal.Now()},
	})
}

// Ask is which logouts ClaimLogouts claims.
type Ask struct {
	// Most is how many are claimed. PerOrg is how many may be claimed at a time for applications of one organization.
	Most, PerOrg int
	// Busy has the organization of each logout that the replica is sending now.
	Busy []string
	// Lease is how long the claims last.
	Lease time.Duration
}

// ClaimLogouts claims logouts that are due, the oldest first. A logout whose lease has run out is due too.
func (s Store) ClaimLogouts(ctx context.Context, a Ask) ([]domain.Logout, error) {
	now := s.journal.Now()
	return postgres.All[domain.Logout](ctx, s.journal.DB, `with recursive orgs as (
			(select client_org_id as id from logouts order by client_org_id limit 1)
			union all
			select (select l.client_org_id from logouts l where l.client_org_id > orgs.id
				order by l.client_org_id limit 1) from orgs where orgs.id is not null
		), due as (
			select waits.session_id, waits.client_id from orgs, lateral (
				select l.session_id, l.client_id, l.due_at from logouts l
				where l.client_org_id = orgs.id and l.due_at <= @now order by l.due_at
				limit greatest(0, @per_org - coalesce(cardinality(array_positions(@busy::text[], orgs.id)), 0))
				for update skip locked
			) waits order by waits.due_at limit @most
		)
		update logouts l set due_at = @leased_until, tries = l.tries + 1, fence = l.fence + 1 from due
		where l.session_id = due.session_id and l.client_id = due.client_id
		returning l.session_id, l.client_id, l.client_org_id, l.user_id, l.tries, l.fence`,
		postgres.Args{
			"now": now, "leased_until": now.Add(a.Lease), "most": a.Most, "per_org": a.PerOrg, "busy": a.Busy,
		})
}

// RepeatLogout lets a claimed logout wait for its next try. If another replica has claimed it, nothing is written.
func (s Store) RepeatLogout(ctx context.Context, l domain.Logout, pause time.Duration) error {
	_, err := s.journal.DB.Exec(ctx, `update logouts set due_at = @due_at, tries = @tries
		where session_id = @session_id and client_id = @client_id and fence = @fence`,
		postgres.Args{"due_at": s.journal.Now().Add(pause), "tries": l.Tries, "session_id": l.SessionID,
			"client_id": l.ClientID, "fence": l.Fence})
	return postgres.Fault(err)
}

// FinishLogout removes a claimed logout. If another replica has claimed it, nothing is removed.
func (s Store) FinishLogout(ctx context.Context, l domain.Logout) error {
	_, err := s.journal.DB.Exec(ctx, `delete from logouts
		where session_id = @session_id and client_id = @client_id and fence = @fence`,
		postgres.Args{"session_id": l.SessionID, "client_id": l.ClientID, "fence": l.Fence})
	return postgres.Fault(err)
}
