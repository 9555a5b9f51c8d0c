package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	orgColumns = `id, name, primary_domain, state, generation, sequence, created_at, changed_at`
	readOrg    = `select ` + orgColumns + ` from organizations where id = @id and state <> org_removed()`
)

// OrgName and OrgDomain are the columns that organizations are searched by.
var (
	OrgName   = search.Column{Exact: "name", Folded: "name_folded"}
	OrgDomain = search.Column{Exact: "primary_domain", Folded: "primary_domain"}
)

// Org reads an organization.
func (s Store) Org(ctx context.Context, id string) (domain.Org, error) {
	o, err := postgres.One[domain.Org](ctx, s.journal.DB, readOrg, postgres.Args{"id": id})
	return o, postgres.Missing(err, usersfault.ErrOrgNotFound)
}

// CreateOrg writes an organization and its first owner. It writes no owner if ownerID is empty.
func (s Store) CreateOrg(
	ctx context.Context, o domain.Org, ownerID string, created proto.Message,
) (resource.Record, error) {
	save := newOrg(o, ownerID)
	if ownerID == "" {
		return s.journal.Create(ctx, created, save)
	}
	return s.journal.CreateLocked(ctx, lockReceiver(ownerID), created, save)
}

func newOrg(o domain.Org, ownerID string) event.Statement {
	return event.Statement{
		AggregateID: o.ID, OrganizationID: o.ID,
		Along: `select 'member', 'added', @owner_id::text, @id::text,
				jsonb_build_object('userId', @owner_id::text, 'roles', array['ORG_OWNER'],
					'state', 'MEMBERSHIP_STATE_ACTIVE')
			where @owner_id <> ''`,
		SQL: `org as (
			insert into organizations (id, name, name_folded, primary_domain, state, sequence, created_at, changed_at)
			select @id, @name, @name_folded, @primary_domain, @state, position, time, time from event returning id
		), owner as (
			insert into members (user_id, org_id, roles, state, sequence, created_at, changed_at)
			select @owner_id, org.id, '{ORG_OWNER}', @owner_state, position, time, time from along, org
			where along.aggregate = 'member'
		)`,
		Args: postgres.Args{
			"id": o.ID, "name": o.Name, "name_folded": search.Fold(o.Name), "primary_domain": o.PrimaryDomain,
			"state": o.State, "owner_id": ownerID, "owner_state": domain.MembershipActive,
		},
	}
}

// ChangeOrg locks an organization, calls change and saves the result.
func (s Store) ChangeOrg(
	ctx context.Context, id string, change func(*domain.Org) (proto.Message, error),
) (domain.Org, error) {
	return event.Change(ctx, s.journal, lockOrg(id), change)
}

// EndLogins is ChangeOrg for a change after which no user of the organization can log in. It refuses a caller who
// lacks a permission that one of them has in the instance.
func (s Store) EndLogins(
	ctx context.Context, id string, change func(*domain.Org) (proto.Message, error),
) (domain.Org, error) {
	l := lockOrg(id)
	l.Check = guardOrg(ctx, id)
	return event.Change(ctx, s.journal, l, change)
}

func lockOrg(id string) event.Locked[domain.Org] {
	return event.Locked[domain.Org]{
		Lock: readOrg + ` for update`, Args: postgres.Args{"id": id}, NotFound: usersfault.ErrOrgNotFound,
		Write: saveOrg,
	}
}

func saveOrg(o domain.Org) event.Statement {
	return event.Statement{
		AggregateID: o.ID, OrganizationID: o.ID,
		SQL: `org as (
			update organizations set name = @name, name_folded = @name_folded, state = @state,
				generation = @generation, sequence = position, changed_at = time
			from event where id = @id
		)`,
		Args: postgres.Args{
			"id": o.ID, "name": o.Name, "name_folded": search.Fold(o.Name), "state": o.State,
			"generation": o.Generation,
		},
	}
}

// Orgs returns a query for all organizations.
func (s Store) Orgs() *search.Query {
	return search.Select(orgColumns, "organizations", "created_at, id").Where("state <> org_removed()")
}

// SearchOrgs runs a query of Orgs.
func (s Store) SearchOrgs(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.Org], error) {
	return search.Read[domain.Org](ctx, s.journal.DB, query, p)
}
