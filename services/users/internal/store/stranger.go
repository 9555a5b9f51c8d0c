package store

import (
	"context"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/postgres"
)

// tryStranger counts a guess at a login name that nobody has, as TryPassword does for a user. A name takes the place
// of another one with the same slot, so that guesses never cost more rows than there are slots.
func (s Store) tryStranger(ctx context.Context, who domain.Stranger, now time.Time) (time.Duration, error) {
	args := triesArgs(now)
	args["slot"], args["name"] = who.Slot, who.Name
	t, err := postgres.One[tried](ctx, s.journal.DB, `with counted as (
			insert into strangers as t (slot, name, tries, since) values (@slot, @name, 1, @now)
			on conflict (slot) do update set name = @name, since = @now,
				tries = case when t.name <> @name or `+triesForgotten+` then 1 else t.tries + 1 end
			where t.name <> @name or t.since + `+triesPause+` <= @now
			returning t.slot
		)
		select exists (select from counted) as tried,
			(select t.since + `+triesPause+` from strangers t where t.slot = @slot and t.name = @name) as until`, args)
	return t.wait(now), postgres.Fault(err)
}

// untryStranger removes a guess that was not checked.
func (s Store) untryStranger(ctx context.Context, who domain.Stranger) error {
	_, err := s.journal.DB.Exec(ctx, `update strangers t set `+untried+`
		where t.slot = @slot and t.name = @name and t.tries > 0`, postgres.Args{
		"slot": who.Slot, "name": who.Name, "most": domain.PasswordTries, "pauses": domain.PasswordPauses(),
	})
	return postgres.Fault(err)
}
