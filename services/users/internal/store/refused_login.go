package store

import (
	"context"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// refusedLogins is SQL for the refused logins as events. They are no events: nobody is told, and strangers cause them
// in any number.
const refusedLogins = `select position, id, 'human'::text collate "C" as aggregate, user_id as aggregate_id,
		'login_refused'::text collate "C" as name, org_id as organization_id, 'auth'::text collate "C" as actor,
		jsonb_build_object('reason', reason, 'count', refused, 'last', last_at) as data, time, request_id,
		user_id as history_id
	from refused_logins where refused > 0`

// countGuess is SQL after that of `counted`. It counts a guess at a password as a refused login before the password is
// checked, as the guess itself is counted. It locks the row of `counted` first, as all other statements do.
var countGuess = countRefusal(`case when exists (select from counted) then @wrong else @paused end`)

func countRefusal(reason string) string {
	return `, refusal as (
			insert into refused_logins as r (user_id, reason, period, id, org_id, request_id, time, last_at, refused)
			select @user_id, ` + reason + `, @period, @note_id, @org_id, @request_id, @now, @now, 1
				where (select count(*) from counted) >= 0
			on conflict (user_id, reason, period) do update set refused = r.refused + 1,
				last_at = greatest(r.last_at, @now), time = case when r.refused = 0 then @now else r.time end
		)`
}

// refusalArgs adds the arguments of countRefusal.
func refusalArgs(ctx context.Context, u domain.User, now time.Time, args postgres.Args) postgres.Args {
	args["org_id"], args["now"], args["period"] = u.OrgID, now, now.Truncate(domain.RefusalsTogether)
	return event.NoteArgs(ctx, args)
}

// CountRefusedLogin counts a login that was refused after its password was right.
func (s Store) CountRefusedLogin(ctx context.Context, u domain.User, why *fault.Fault) error {
	_, err := s.journal.DB.Exec(ctx, `with counted as (select)`+countRefusal(`@reason`)+` select`,
		refusalArgs(ctx, u, s.Now(), postgres.Args{"user_id": u.ID, "reason": why.ID}))
	return postgres.Fault(err)
}

// countStranger is SQL that does the same work for a login name that nobody has.
const countStranger = `, refusal as (
			insert into refused_strangers as r (place, refused)
			select @slot::int % 65536, 1 where (select count(*) from counted) >= 0
			on conflict (place) do update set refused = r.refused + 1
		)`

// takeBack is SQL after that of `counted`. It takes back what countGuess has counted.
const takeBack = `update refused_logins set refused = refused - 1
	where user_id = @user_id and reason = @wrong and period = @period and refused > 0
		and (select count(*) from counted) >= 0`

// takeBackArgs adds the arguments of takeBack for a guess that began at a time.
func takeBackArgs(began time.Time, args postgres.Args) postgres.Args {
	args["wrong"], args["period"] = usersfault.ErrLoginWrong.ID, began.Truncate(domain.RefusalsTogether)
	return args
}
