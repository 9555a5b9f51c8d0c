package store

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/services/users/internal/domain"
	"herald/shared/postgres"
	"herald/shared/search"
)

// countTry is SQL that counts a guess at the password of each user of from, unless guesses are refused. since is the
// time of the last one that counted.
func countTry(from string) string {
	return `insert into password_tries as t (user_id, tries, since) select f.id, 1, @now from ` + from + ` f
		on conflict (user_id) do update set since = @now, tries = case when ` + triesForgotten + ` then 1
			else t.tries + 1 end
		where t.since + ` + triesPause + ` <= @now
		returning t.user_id`
}

const (
	triesPause     = `coalesce((@pauses::interval[])[least(t.tries - @most + 1, cardinality(@pauses))], '0')`
	triesForgotten = `t.since + case when t.tries < @most then @quiet::interval else @memory::interval end <= @now`
	// triesLeft is until when guesses at the password of the user f are refused.
	triesUntil = `(select t.since + ` + triesPause + ` from password_tries t where t.user_id = f.id)`
)

func triesArgs(now time.Time) postgres.Args {
	return postgres.Args{"now": now, "most": domain.PasswordTries, "pauses": domain.PasswordPauses(),
		"quiet": domain.PasswordQuiet, "memory": domain.PasswordMemory}
}

// tried says whether a guess counted, and if not, until when guesses are refused.
type tried struct {
	Tried bool
	Until *time.Time
}

// wait returns zero if the guess counted, else how long guesses are refused.
func (t tried) wait(now time.Time) time.Duration {
	if t.Tried {
		return 0
	}
	if t.Until == nil { // the right password has just removed the row
		return time.Second
	}
	return max(t.Until.Sub(now), time.Second)
}

// TryPassword counts a guess at a user's password before it is checked, so that simultaneous guesses cannot exceed
// the bound. It returns zero if the guess is allowed, else how long guesses are refused.
func (s Store) TryPassword(ctx context.Context, userID string, now time.Time) (wait time.Duration, err error) {
	args := triesArgs(now)
	args["user_id"] = userID
	t, err := postgres.One[tried](ctx, s.journal.DB, `with asked as (select @user_id::text as id),
			counted as (`+countTry("asked")+`)
		select exists (select from counted) as tried, `+triesUntil+` as until from asked f`, args)
	return t.wait(now), postgres.Fault(err)
}

// UntryPassword removes a guess that was not checked.
func (s Store) UntryPassword(ctx context.Context, userID string) error {
	args := postgres.Args{"user_id": userID, "most": domain.PasswordTries, "pauses": domain.PasswordPauses()}
	_, err := s.journal.DB.Exec(ctx, `update password_tries t set tries = t.tries - 1,
			since = t.since - coalesce((@pauses::interval[])[least(t.tries - @most, cardinality(@pauses))], '0')
		where t.user_id = @user_id and t.tries > 0`, args)
	return postgres.Fault(err)
}

// ForgetTries removes guesses that refuse no further ones.
func (s Store) ForgetTries(ctx context.Context, now time.Time) error {
	args := triesArgs(now)
	delete(args, "pauses")
	_, err := s.journal.DB.Exec(ctx, `delete from password_tries t where `+triesForgotten, args)
	return postgres.Fault(err)
}

// whoseName is who has a login name, or alone has the e-mail address.
const whoseName = `people as not materialized (
		select u.id, u.user_name_folded, u.email_folded, u.state, o.state as org_state, o.generation as org_generation
		from users u join organizations o on o.id = u.org_id and o.state <> org_removed() where u.type = @human
	), named as materialized (
		select * from people where user_name_folded = @name
	), mailed as materialized (
		select * from people where email_folded = @name and not exists (select from named) limit 2
	), whose as (
		select * from named union all select * from mailed where (select count(*) from mailed) = 1
	)`

// Named is a user of a login name. It is zero for nobody.
type Named struct {
	ID    string
	State domain.UserState
}

// Named returns who has a login name, or alone has the e-mail address. It counts no guess.
func (s Store) Named(ctx context.Context, loginName string) (Named, error) {
	found, err := postgres.One[Named](ctx, s.journal.DB, `with `+whoseName+` select id, state from whose`,
		postgres.Args{"name": foldName(loginName), "human": domain.Human})
	if errors.Is(err, pgx.ErrNoRows) {
		return Named{}, nil
	}
	return found, postgres.Fault(err)
}

// tryLogin finds who has a login name, or alone has the e-mail address, and counts a guess at the password. Without
// one it makes Postgres do as much: guesses at the same name take turns and are written to the write-ahead log.
var tryLogin = `with turn as materialized (
		select pg_advisory_xact_lock(hashtextextended('login ' || @name::text, 0))
	), ` + whoseName + `, found as materialized (
		select m.id, m.org_state, m.org_generation from turn, whose m
	), counted as (` + countTry("found") + `
	), missed as (
		select pg_logical_emit_message(true, 'herald', 'a guess at nobody') from turn
		where not exists (select from found)
	)
	select ` + postgres.Each("u.", userColumns) + `, f.org_state, f.org_generation,
		exists (select from otp_factors o where o.user_id = u.id and o.state = @ready) as otp_ready,
		exists (select from counted) as tried, ` + triesUntil + ` as until
	from found f join users u on u.id = f.id
	-- Asked before anything is joined: a join with nobody would not ask it.
	where (select count(*) from missed) >= 0`

// TryLogin returns who has a login name, and counts a guess at the password. It returns domain.ErrPasswordLocked if
// guesses are refused, and the zero Candidate, after the same work, if there is nobody.
func (s Store) TryLogin(ctx context.Context, loginName string) (domain.Candidate, error) {
	type row struct {
		domain.Candidate
		tried
	}
	name, now := foldName(loginName), s.Now()
	args := triesArgs(now)
	maps.Copy(args, postgres.Args{"name": name, "human": domain.Human, "ready": domain.FactorReady})
	rows, err := postgres.All[row](ctx, s.journal.DB, tryLogin, args)
	if err != nil {
		return domain.Candidate{}, err
	}
	if len(rows) == 0 {
		if wait := s.strangers.Try(name); wait > 0 {
			return domain.Candidate{}, domain.ErrPasswordLocked.After(wait)
		}
		return domain.Candidate{}, nil
	}
	if wait := rows[0].wait(now); wait > 0 {
		return domain.Candidate{}, domain.ErrPasswordLocked.After(wait)
	}
	return rows[0].Candidate, nil
}

func foldName(loginName string) string { return search.Fold(strings.TrimSpace(loginName)) }

// UntryLogin takes back a guess that was not checked.
func (s Store) UntryLogin(ctx context.Context, loginName string, found domain.Candidate) error {
	if found.ID == "" {
		s.strangers.Untry(foldName(loginName))
		return nil
	}
	return s.UntryPassword(ctx, found.ID)
}

// LoggedIn removes the counted guesses at a password that was right, and replaces its hash, if next is not empty, by
// another one of the same password.
func (s Store) LoggedIn(ctx context.Context, userID string, checked, next domain.Hidden) error {
	_, err := s.journal.DB.Exec(ctx, `with forgiven as (delete from password_tries where user_id = @id)
		update users set password_hash = @next where id = @id and password_hash = @checked and @next <> ''`,
		postgres.Args{"id": userID, "checked": string(checked), "next": string(next)})
	return postgres.Fault(err)
}
