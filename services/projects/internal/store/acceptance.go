package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
)

// readAcceptance selects the answer of an organization to a grant. The joined row may be missing.
var readAcceptance = `select g.id as grant_id, g.granted_org_id as org_id, g.project_id,
		coalesce(x.state, ` + pending + `) as state, coalesce(x.sequence, 0) as sequence,
		coalesce(x.created_at, g.created_at) as created_at, coalesce(x.changed_at, g.created_at) as changed_at
	from ` + grantFrom + ` where g.id = @id and g.granted_org_id is not distinct from @org_id`

// Answer locks a grant to an organization, calls answer and saves the organization's answer. The users of an
// organization that ends the grant lose the roles that they have by it. Answer writes nothing that belongs to the
// organization that owns the project.
func (s Store) Answer(
	ctx context.Context, grantedOrgID, grantID string, answer func(*domain.Acceptance) (proto.Message, error),
) (domain.Acceptance, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Acceptance]{
		Lock:     readAcceptance + ` for no key update of p for update of g`,
		NotFound: projectsfault.ErrProjectGrantNotFound,
		Args:     postgres.Args{"id": grantID, "org_id": grantedOrgID},
		Write: func(a domain.Acceptance) event.Statement {
			return event.Statement{
				AggregateID: a.GrantID, OrganizationID: a.OrgID,
				Along: `select 'user_grant', 'removed', u.id, u.org_id,
						jsonb_build_object('userId', u.user_id, 'projectId', u.project_id)
					from user_grants u where u.project_grant_id = @id and @state::smallint = @ended`,
				SQL: `acceptance as (
					insert into project_grant_acceptances as x
						(grant_id, org_id, state, sequence, created_at, changed_at)
					select @id, @event_organization, @state::smallint, position, time, time from event
					on conflict (grant_id) do update set state = excluded.state, sequence = excluded.sequence,
						changed_at = excluded.changed_at
				), users as (
					delete from user_grants u using along where u.id = along.aggregate_id
				)`,
				Args: postgres.Args{"id": a.GrantID, "state": a.State, "ended": domain.AcceptanceEnded},
			}
		},
	}, answer)
}

// accepting is a common table expression that stores an acceptance. Its event is in the table along.
const accepting = `acceptance as (
		insert into project_grant_acceptances (grant_id, org_id, state, sequence, created_at, changed_at)
		select along.aggregate_id, along.organization_id, @accepted::smallint, along.position, along.time, along.time
		from along
	)`
