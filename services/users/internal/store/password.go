package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/mail"
	"herald/shared/postgres"
	"herald/shared/search"
)

const (
	triesPause = `coalesce((@pauses::interval[])[least(t.tries - @most + 1, cardinality(@pauses))], '0')`
	// triesFree holds while there is no pause. Guesses may be counted in another order than they began.
	triesFree      = `(t.tries < @most or t.since + ` + triesPause + ` <= @now)`
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
	Tried     bool
	Tries     int
	Until     *time.Time
	Specimens []string
}

// specimens is SQL for the slowest hashes that people were imported with. It is read with each guess, so that all
// replicas know them at once.
const specimens = `(select coalesce(array_agg(specimen), '{}') from password_costs where format <> '') as specimens`

// refused returns nil if the guess counted, else the fault with how long guesses are refused.
func (t tried) refused(now time.Time) error {
	if t.Tried {
		return nil
	}
	wait := time.Second
	if t.Until != nil { // else the right password has just removed the row
		wait = max(t.Until.Sub(now), wait)
	}
	return usersfault.ErrPasswordLocked.After(wait)
}

// pausedUntil returns when the pause ends that the guess begins if it is wrong, or zero for none.
func (t tried) pausedUntil(now time.Time) time.Time {
	if pause := domain.PasswordPause(t.Tries); pause > 0 {
		return now.Add(pause)
	}
	return time.Time{}
}

// Guesser is who guesses at a user's password. Count names those whose guesses are counted together: a browser in which
// the user logged in before, what OfCaller returns, or anybody else if it is empty.
type Guesser struct{ UserID, Count string }

// OfCaller returns who guesses at the caller's own password. Strangers have another count, so that they keep nobody who
// has logged in from changing it. Applications have one count together, so that they keep nobody from changing it at
// Herald's own pages.
func OfCaller(c caller.Caller) Guesser {
	if c.ClientID != "" {
		return Guesser{c.UserID, "with an application"}
	}
	return Guesser{c.UserID, "logged in"}
}

// TryPassword counts a guess at a user's password before it is checked, so that simultaneous guesses cannot exceed
// the bound. It returns usersfault.ErrPasswordLocked if guesses are refused, else when the pause ends that this guess
// begins if it is wrong, or zero for none.
func (s Store) TryPassword(ctx context.Context, g Guesser, now time.Time) (pausedUntil time.Time, err error) {
	t, err := s.tryPassword(ctx, g.args(now), "")
	if err != nil {
		return time.Time{}, err
	}
	return t.pausedUntil(now), t.refused(now)
}

func (g Guesser) args(now time.Time) postgres.Args {
	args := triesArgs(now)
	args["user_id"], args["browser"] = g.UserID, g.Count
	return args
}

// tryPassword counts a guess. also is SQL for what the statement writes besides, or empty.
func (s Store) tryPassword(ctx context.Context, args postgres.Args, also string) (tried, error) {
	t, err := postgres.One[tried](ctx, s.journal.DB, `with counted as (
			insert into password_tries as t (user_id, browser, tries, since) values (@user_id, @browser, 1, @now)
			on conflict (user_id, browser) do update set since = @now,
				tries = case when `+triesForgotten+` then 1 else t.tries + 1 end
			where `+triesFree+`
			returning t.tries
		)`+also+`
		select exists (select from counted) as tried, coalesce((select tries from counted), 0) as tries,
			(select t.since + `+triesPause+` from password_tries t
				where t.user_id = @user_id and t.browser = @browser) as until, `+specimens, args)
	return t, postgres.Fault(err)
}

// untryPassword is SQL that takes back a guess.
const untryPassword = `update password_tries t set ` + untried + `
	where t.user_id = @user_id and t.browser = @browser and t.tries > 0`

func (g Guesser) untryArgs() postgres.Args {
	return postgres.Args{
		"user_id": g.UserID, "browser": g.Count, "most": domain.PasswordTries, "pauses": domain.PasswordPauses(),
	}
}

// UntryPassword removes a guess that was not checked.
func (s Store) UntryPassword(ctx context.Context, g Guesser) error {
	_, err := s.journal.DB.Exec(ctx, untryPassword, g.untryArgs())
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

// LoginTry is a login name, and the browser in which it was typed. Browser is empty if nobody has logged in in it.
type LoginTry struct {
	LoginName, Browser string
	// Known are the users who have logged in in the browser.
	Known []string
}

// TryLogin returns the user with a login name, and counts a guess at the password and a refused login, which LoggedIn
// takes back. It returns usersfault.ErrPasswordLocked if guesses are refused. If there is nobody, it does the same work
// and returns a Candidate without an id.
func (s Store) TryLogin(ctx context.Context, l LoginTry, key domain.Lasting) (domain.Candidate, error) {
	name, now := foldName(l.LoginName), s.Now()
	found, err := postgres.All[domain.Candidate](ctx, s.journal.DB, loginCandidate, postgres.Args{
		"name": name, "human": domain.Human, "ready": domain.FactorReady,
	})
	if err != nil {
		return domain.Candidate{}, err
	}
	who := domain.Candidate{Stranger: key.Stranger("login name", name)}
	var t tried
	if len(found) == 1 {
		who = found[0]
		if slices.Contains(l.Known, who.ID) {
			who.Browser = l.Browser
		}
		args := refusalArgs(ctx, who.User, now, Guesser{who.ID, who.Browser}.args(now))
		args["wrong"], args["paused"] = usersfault.ErrLoginWrong.ID, usersfault.ErrPasswordLocked.ID
		t, err = s.tryPassword(ctx, args, countGuess)
		who.TriedAt, who.PausedUntil = now, t.pausedUntil(now)
	} else {
		t, err = s.tryStranger(ctx, who.Stranger, now)
	}
	who.Specimens = t.Specimens
	if err == nil {
		err = t.refused(now)
	}
	return who, err
}

func foldName(loginName string) string {
	return search.Fold(strings.TrimSpace(mail.AsTyped(loginName)))
}

// UntryLogin takes back a guess that was not checked.
func (s Store) UntryLogin(ctx context.Context, who domain.Candidate) error {
	if who.ID == "" {
		return s.untryStranger(ctx, who.Stranger)
	}
	_, err := s.journal.DB.Exec(ctx, `with counted as (`+untryPassword+` returning t.user_id) `+takeBack,
		takeBackArgs(who.TriedAt, Guesser{who.ID, who.Browser}.untryArgs()))
	return postgres.Fault(err)
}

// LoggedIn removes the guesses that were counted together with one that was right, and replaces the user's hash, if
// next is not empty, by another one of the same password. The guess is no refused login any more, unless refusal says
// why the user may not log in.
func (s Store) LoggedIn(
	ctx context.Context, who domain.Candidate, refusal *fault.Fault, next domain.Hidden,
) error {
	args := takeBackArgs(who.TriedAt, postgres.Args{
		"user_id": who.ID, "browser": who.Browser, "checked": string(who.PasswordHash), "next": string(next),
	})
	sql := `with counted as (
			delete from password_tries where user_id = @user_id and browser = @browser returning user_id
		), right_guess as (` + takeBack + `)`
	if refusal != nil {
		sql += countRefusal(`@reason`)
		args["reason"] = refusal.ID
		args = refusalArgs(ctx, who.User, who.TriedAt, args)
	}
	_, err := s.journal.DB.Exec(ctx, sql+`
		update users set password_hash = @next where id = @user_id and password_hash = @checked and @next <> ''`, args)
	return postgres.Fault(err)
}

// PausePassword notes until when a user's password is not checked, which wrong guesses caused. paused is the event.
func (s Store) PausePassword(
	ctx context.Context, orgID, userID string, until time.Time, paused proto.Message,
) error {
	_, _, err := s.ChangeUser(ctx, orgID, userID, func(u *domain.User) (UserChange, error) {
		u.Pause(until)
		return UserChange{Event: paused}, nil
	})
	return err
}

// costs adds to a statement that writes hashes of other systems how slow the slowest of each format is.
func costs(users []NewUser, also func(sql string, args postgres.Args)) {
	slowest := map[string]domain.HashCost{}
	for _, u := range users {
		if c := u.HashCost; c.Estimate > slowest[c.Format].Estimate {
			slowest[c.Format] = c
		}
	}
	if len(slowest) == 0 {
		return
	}
	sql, args := insertCosts(slowest)
	also(`costs as (`+sql+`)`, args)
}

func insertCosts(slowest map[string]domain.HashCost) (string, postgres.Args) {
	formats := slices.Sorted(maps.Keys(slowest)) // statements at once wait for each other in one order
	return `insert into password_costs as c (format, specimen, estimate)
			select * from unnest(@formats::text[], @specimens::text[], @estimates::bigint[])
			on conflict (format) do update set specimen = excluded.specimen, estimate = excluded.estimate
			where c.estimate < excluded.estimate`, postgres.Args{
			"formats":   formats,
			"specimens": search.Each(formats, func(f string) string { return slowest[f].Specimen }),
			"estimates": search.Each(formats, func(f string) int64 { return int64(slowest[f].Estimate) }),
		}
}

// LearnCosts notes how slow the hashes are that were written before costs were noted. It does so once. cost returns
// the cost of a hash.
func (s Store) LearnCosts(ctx context.Context, cost func(domain.Hidden) (domain.HashCost, error)) error {
	var learnt bool
	err := s.journal.DB.QueryRow(ctx, `select exists (select from password_costs where format = '')`).Scan(&learnt)
	if err != nil || learnt {
		return postgres.Fault(err)
	}
	slowest := map[string]domain.HashCost{"": {}}
	//nolint:rowserrcheck // ForEachRow returns it
	rows, _ := s.journal.DB.Query(ctx, `select password_hash from users where password_hash <> ''`)
	var hash domain.Hidden
	if _, err = pgx.ForEachRow(rows, []any{(*string)(&hash)}, func() error {
		c, err := cost(hash)
		if c.Estimate > slowest[c.Format].Estimate {
			slowest[c.Format] = c
		}
		return err
	}); err != nil {
		return postgres.Fault(err)
	}
	sql, args := insertCosts(slowest)
	_, err = s.journal.DB.Exec(ctx, sql, args)
	return postgres.Fault(err)
}
