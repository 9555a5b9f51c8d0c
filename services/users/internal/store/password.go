package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/search"
)

const (
	triesPause     = `coalesce((@pauses::interval[])[least(t.tries - @most + 1, cardinality(@pauses))], '0')`
	triesForgotten = `t.since + case when t.tries < @most then @quiet::interval else @memory::interval end <= @now`
	// untried is SQL that takes back a guess and the pause that the guess began.
	untried = `tries = t.tries - 1,
		since = t.since - coalesce((@pauses::interval[])[least(t.tries - @most, cardinality(@pauses))], '0')`
)

func triesArgs(now time.Time) postgres.Args {
	return postgres.Args{"now": now, "most": domain.PasswordTries, "pauses": domain.PasswordPauses(),
		"quiet": domain.PasswordQuiet, "memory": domain.PasswordMemory}
}

// tried is the result of a guess. Until is the end of the pause if the guess was refused.
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
	t, err := postgres.One[tried](ctx, s.journal.DB, `with counted as (
			insert into password_tries as t (user_id, tries, since) values (@user_id, 1, @now)
			on conflict (user_id) do update set since = @now,
				tries = case when `+triesForgotten+` then 1 else t.tries + 1 end
			where t.since + `+triesPause+` <= @now
			returning t.user_id
		)
		select exists (select from counted) as tried,
			(select t.since + `+triesPause+` from password_tries t where t.user_id = @user_id) as until`, args)
	return t.wait(now), postgres.Fault(err)
}

// UntryPassword removes a guess that was not checked.
func (s Store) UntryPassword(ctx context.Context, userID string) error {
	_, err := s.journal.DB.Exec(ctx, `update password_tries t set `+untried+`
		where t.user_id = @user_id and t.tries > 0`, postgres.Args{
		"user_id": userID, "most": domain.PasswordTries, "pauses": domain.PasswordPauses(),
	})
	return postgres.Fault(err)
}

// whoseName is SQL for the user with a login name. If nobody has the name, it is the only user with that e-mail
// address.
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

// Named returns the user with a login name, or the only user with that e-mail address. It counts no guess.
func (s Store) Named(ctx context.Context, loginName string) (Named, error) {
	found, err := postgres.One[Named](ctx, s.journal.DB, `with `+whoseName+` select id, state from whose`,
		postgres.Args{"name": foldName(loginName), "human": domain.Human})
	if errors.Is(err, pgx.ErrNoRows) {
		return Named{}, nil
	}
	return found, postgres.Fault(err)
}

// loginCandidate is SQL for the user whose password is checked.
var loginCandidate = `with ` + whoseName + `
	select ` + postgres.Each("u.", userColumns) + `, f.org_state, f.org_generation,
		exists (select from otp_factors o where o.user_id = u.id and o.state = @ready) as otp_ready
	from whose f join users u on u.id = f.id`

// TryLogin returns the user with a login name, and counts a guess at the password. It returns
// usersfault.ErrPasswordLocked if guesses are refused. If there is nobody, it does the same work and returns a
// Candidate without an id.
func (s Store) TryLogin(ctx context.Context, loginName string, key domain.Lasting) (domain.Candidate, error) {
	name, now := foldName(loginName), s.Now()
	found, err := postgres.All[domain.Candidate](ctx, s.journal.DB, loginCandidate, postgres.Args{
		"name": name, "human": domain.Human, "ready": domain.FactorReady,
	})
	if err != nil {
		return domain.Candidate{}, err
	}
	who := domain.Candidate{Stranger: key.Stranger("login name", name)}
	var wait time.Duration
	if len(found) == 1 {
		who = found[0]
		wait, err = s.TryPassword(ctx, who.ID, now)
	} else {
		wait, err = s.tryStranger(ctx, who.Stranger, now)
	}
	if err == nil && wait > 0 {
		err = usersfault.ErrPasswordLocked.After(wait)
	}
	return who, err
}

func foldName(loginName string) string { return search.Fold(strings.TrimSpace(loginName)) }

// UntryLogin takes back a guess that was not checked.
func (s Store) UntryLogin(ctx context.Context, who domain.Candidate) error {
	if who.ID == "" {
		return s.untryStranger(ctx, who.Stranger)
	}
	return s.UntryPassword(ctx, who.ID)
}

// LoggedIn removes the counted guesses at a password that was right, and replaces its hash, if next is not empty, by
// another one of the same password.
func (s Store) LoggedIn(ctx context.Context, userID string, checked, next domain.Hidden) error {
	_, err := s.journal.DB.Exec(ctx, `with reset_tries as (delete from password_tries where user_id = @id)
		update users set password_hash = @next where id = @id and password_hash = @checked and @next <> ''`,
		postgres.Args{"id": userID, "checked": string(checked), "next": string(next)})
	return postgres.Fault(err)
}
