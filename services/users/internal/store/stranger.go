package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// free is an SQL condition: the row t is the stranger's own, or another name may take its slot. A name whose guesses
// are refused keeps its slot for domain.PasswordMemory, so that guesses at invented names do not end the refusal. Until
// then guesses at other names with that slot do not count.
const free = `(t.name = @name or t.tries < @most or t.since + @memory::interval <= @now)`

// tryStranger counts a guess at a login name that nobody has, as TryPassword does for a user. A name replaces another
// one with the same slot, so that guesses never cost more rows than there are slots.
func (s Store) tryStranger(ctx context.Context, who domain.Stranger, now time.Time) (tried, error) {
	args := triesArgs(now)
	args["slot"], args["name"] = who.Slot, who.Name
	t, err := postgres.One[tried](ctx, s.journal.DB, `with counted as (
			insert into strangers as t (slot, name, tries, since) values (@slot, @name, 1, @now)
			on conflict (slot) do update set name = @name, since = @now, mails = '{}',
				tries = case when t.name <> @name or `+triesForgotten+` then 1 else t.tries + 1 end
			where `+free+` and (t.name <> @name or `+triesFree+`)
			returning t.slot
		)`+countStranger+`
		select 0 as tries, `+specimens+`, exists (select from counted)
				or exists (select from strangers t where t.slot = @slot and not `+free+`) as tried,
			(select t.since + `+triesPause+` from strangers t where t.slot = @slot and t.name = @name) as until`, args)
	return t, postgres.Fault(err)
}

// untryStranger removes a guess that was not checked.
func (s Store) untryStranger(ctx context.Context, who domain.Stranger) error {
	_, err := s.journal.DB.Exec(ctx, `update strangers t set `+untried+`
		where t.slot = @slot and t.name = @name and t.tries > 0`, postgres.Args{
		"slot": who.Slot, "name": who.Name, "most": domain.PasswordTries, "pauses": domain.PasswordPauses(),
	})
	return postgres.Fault(err)
}

// tryNoCode counts a guess at a code that does not exist, as TryCode does for a code that exists.
func (s Store) tryNoCode(ctx context.Context, nobody domain.Stranger) error {
	c, err := postgres.One[struct{ Locked bool }](ctx, s.journal.DB, `
		insert into strangers as t (slot, name, tries, since) values (@slot, @name, 1, @now)
		on conflict (slot) do update set name = @name, since = @now,
			tries = case when t.name <> @name then 1 else least(t.tries, @most) + 1 end,
			mails = case when t.name <> @name then '{}' else t.mails end
		where `+free+`
		returning t.tries > @most as locked`, postgres.Args{
		"slot": nobody.Slot, "name": nobody.Name, "now": s.Now(), "most": domain.CodeTries,
		"memory": domain.PasswordMemory,
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows): // another name keeps the slot
		return nil
	case err == nil && c.Locked:
		return usersfault.ErrCodeLocked
	}
	return postgres.Fault(err)
}

// renewNoCode removes the guesses at a code that does not exist, when a user who waits for a mail would get a new code.
func (s Store) renewNoCode(ctx context.Context, nobody domain.Stranger, pause time.Duration) error {
	_, err := s.journal.DB.Exec(ctx, `
		insert into strangers as t (slot, name, tries, since, mails)
			values (@slot, @name, 0, @now, array[@now::timestamptz])
		on conflict (slot) do update set name = @name, since = @now, tries = 0,
			mails = case when t.name <> @name then array[@now::timestamptz]
				else (array_prepend(@now::timestamptz, t.mails))[1:@a_day] end
		where `+free+` and (t.name <> @name or (t.mails[1] < @now - @pause::interval) is not false
			and (t.mails[@a_day] < @now - interval '1 day') is not false)`, postgres.Args{
		"slot": nobody.Slot, "name": nobody.Name, "now": s.Now(), "pause": pause, "a_day": domain.CodesADay,
		"most": domain.CodeTries, "memory": domain.PasswordMemory,
	})
	return postgres.Fault(err)
}
