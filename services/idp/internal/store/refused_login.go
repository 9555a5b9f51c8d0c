package store

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/idp/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/postgres"
)

// Refusals are the refused logins at a provider that no event reports yet.
type Refusals struct {
	event.Creation
	OrgID string
	// Reasons are the ids of faults, the most frequent first. Counts are how many logins each of them ended.
	Reasons []string
	Counts  []int64
	Since   time.Time
}

// mostReasons is how many reasons an event has room for.
const mostReasons = 20

// Report makes the event that reports refused logins.
type Report func(*Refusals) (proto.Message, error)

// due is an SQL condition for providers whose refused logins may have an event now.
const due = `(refusals_reported_at is null or refusals_reported_at <= @reported_before)`

// NoteRefusedLogin counts a login that was refused at a provider of an organization. It does not change the provider.
// The first refusal has its event at once. Those of the next minute wait for the next one or for
// ReportRefusedLogins: strangers cause them, in any number.
func (s Store) NoteRefusedLogin(ctx context.Context, orgID, id, reason string, now time.Time, report Report) error {
	args := idpKey(orgID, id)
	args["reason"], args["now"], args["reported_before"] = reason, now, now.Add(-domain.RefusalsEvery)
	counted, err := postgres.One[struct{ Due bool }](ctx, s.journal.DB, `with idp as (
			select id, `+due+` as due from idps where id = @id and org_id is not distinct from @org_id for key share
		), counted as (
			insert into refused_logins as r (idp_id, reason, refused, since) select id, @reason, 1, @now from idp
			on conflict (idp_id, reason) do update set refused = r.refused + 1
		) select due from idp`, args)
	if err = postgres.Missing(err, idpfault.ErrIdpNotFound); err != nil || !counted.Due {
		return err
	}
	return s.reportRefusedLogins(ctx, id, now, report)
}

// ReportRefusedLogins writes the events for the refused logins that still have none, for each provider at most one a
// minute.
func (s Store) ReportRefusedLogins(ctx context.Context, now time.Time, report Report) error {
	found, err := postgres.All[struct{ ID string }](ctx, s.journal.DB, `select id from idps
		where id in (select idp_id from refused_logins) and `+due, postgres.Args{
		"reported_before": now.Add(-domain.RefusalsEvery)})
	for _, i := range found {
		err = errors.Join(err, s.reportRefusedLogins(ctx, i.ID, now, report))
	}
	return err
}

// reportRefusedLogins writes the event for the refused logins at a provider, unless it had one in the last minute.
func (s Store) reportRefusedLogins(ctx context.Context, id string, now time.Time, report Report) error {
	args := postgres.Args{"id": id, "reported_before": now.Add(-domain.RefusalsEvery), "most": mostReasons}
	_, err := event.Change(ctx, s.journal, event.Locked[Refusals]{
		LockFirst: event.Lock{SQL: `select from idps where id = @id for no key update`, Args: postgres.Args{"id": id}},
		Lock: `select org_id, array_agg(reason order by refused desc, reason) as reasons,
				array_agg(refused order by refused desc, reason) as counts, min(since) as since
			from (
				select org_id, reason, refused, since from refused_logins join idps on id = idp_id
				where id = @id and ` + due + ` order by reason limit @most for update of refused_logins
			) unreported group by org_id`,
		Args: args, NotFound: idpfault.ErrIdpNotFound,
		Write: func(r Refusals) event.Statement {
			return event.Statement{
				AggregateID: id, OrganizationID: r.OrgID,
				SQL: `reported as (
						delete from refused_logins using event where idp_id = @id and reason = any (@reasons)
					), idp as (update idps set refusals_reported_at = @now from event where id = @id)`,
				Args: postgres.Args{"id": id, "reasons": r.Reasons, "now": now},
			}
		},
	}, report)
	if errors.Is(err, idpfault.ErrIdpNotFound) { // another replica has reported them
		err = nil
	}
	return err
}
