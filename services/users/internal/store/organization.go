package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const orgColumns = `id, name, primary_domain, state, generation, sequence, created_at, changed_at`

// OrgName and OrgDomain are the columns that organizations are searched by.
var (
	OrgName   = search.Column{Exact: "name", Folded: "name_folded"}
	OrgDomain = search.Column{Exact: "primary_domain", Folded: "primary_domain"}
)

// Org reads an organization.
func (s Store) Org(ctx context.Context, id string) (domain.Org, error) {
	o, err := postgres.One[domain.Org](ctx, s.DB, `select `+orgColumns+` from organizations where id = $1`, id)
	return o, postgres.Missing(err, domain.ErrOrgNotFound)
}

// CreateOrg writes an organization and its first owner; ownerID is empty where a
// service creates it.
func (s Store) CreateOrg(ctx context.Context, o domain.Org, ownerID string, created proto.Message) (resource.Record, error) {
	return s.Create(ctx, created, newOrg(o, ownerID))
}

func newOrg(o domain.Org, ownerID string) event.Save {
	return event.Save{
		AggregateID: o.ID, OrganizationID: o.ID, Constraints: constraints,
		SQL: `org as (
			insert into organizations (id, name, name_folded, primary_domain, state, sequence, created_at, changed_at)
			select $9, $10, $11, $12, $13, position, time, time from event returning id
		), owner as (
			insert into members (user_id, org_id, roles, sequence, created_at, changed_at)
			select $14, org.id, '{ORG_OWNER}', position, time, time from event, org where $14 <> ''
		)`,
		Args: []any{o.ID, o.Name, search.Fold(o.Name), o.PrimaryDomain, o.State, ownerID},
	}
}

// ChangeOrg locks an organization and saves what change makes of it. Where it ends
// up inactive, somebody of another organization must own the instance.
func (s Store) ChangeOrg(ctx context.Context, id string, change func(*domain.Org) (proto.Message, error)) (domain.Org, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Org]{
		// The instance's row makes those who could lock each other out take turns.
		Lock:     `select ` + prefixed("o", orgColumns) + ` from organizations o, instance i where o.id = $1 for update`,
		NotFound: domain.ErrOrgNotFound,
		Save: func(o domain.Org) event.Save {
			return event.Save{
				AggregateID: o.ID, OrganizationID: o.ID, Constraints: constraints, Unless: domain.ErrLastOwner,
				If: `$12 = 1 or exists (` + otherOwners + ` and u.org_id <> $9)`,
				SQL: `org as (
					update organizations set name = $10, name_folded = $11, state = $12, generation = $13, sequence = position, changed_at = time
					from event where id = $9
				)`,
				Args: []any{o.ID, o.Name, search.Fold(o.Name), o.State, o.Generation},
			}
		},
	}, []any{id}, change)
}

// Orgs begins a search among all organizations.
func (s Store) Orgs() *search.Query {
	return search.Select(orgColumns, "organizations", "created_at, id")
}

// SearchOrgs runs it.
func (s Store) SearchOrgs(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.Org], error) {
	return search.Read[domain.Org](ctx, s.DB, query, p)
}
