package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	userGrantColumns = `u.id, u.org_id, u.user_id, u.project_id, coalesce(u.project_grant_id, '') as project_grant_id, u.role_keys,
		u.sequence, u.created_at, u.changed_at, p.name as project_name`
	userGrantFrom  = `user_grants u join projects p on p.id = u.project_id`
	userGrantWhere = ` where u.org_id = $1 and u.user_id = $2 and u.id = $3`

	// lockGranted holds another organization's project for giving the roles of its grant.
	lockGranted = `select ` + projectColumns + ` from projects p
		where p.id = $2 and exists (select from project_grants g where g.granted_org_id = $1 and g.project_id = p.id and g.id = $3) for share`

	// givable tells whether the roles $13 can be given on the project $11, by its grant $12
	// to the organization $10 or, where that is empty, by its owner.
	givable = `$13::text[] <@ case when $12 = '' then array(select key from roles where project_id = $11)
		else (select role_keys from project_grants where granted_org_id = $10 and project_id = $11 and id = $12 and state = 1) end`
)

// UserGrant reads a grant that an organization gave a user.
func (s Store) UserGrant(ctx context.Context, orgID, userID, id string) (domain.UserGrant, error) {
	g, err := postgres.One[domain.UserGrant](ctx, s.DB, `select `+userGrantColumns+` from `+userGrantFrom+userGrantWhere, orgID, userID, id)
	return g, postgres.Missing(err, domain.ErrUserGrantNotFound)
}

// CreateUserGrant writes a grant on an organization's own project, or on one that is
// granted to it. ErrUserGrantNotAllowed where roles or grant are gone meanwhile.
func (s Store) CreateUserGrant(ctx context.Context, g domain.UserGrant, added proto.Message) (resource.Record, error) {
	lock, key := event.Object[domain.Project]{Lock: lockOwn, NotFound: domain.ErrUserGrantProject}, []any{g.OrgID, g.ProjectID}
	if g.ProjectGrantID != "" {
		lock, key = event.Object[domain.Project]{Lock: lockGranted, NotFound: domain.ErrUserGrantByGrant}, append(key, g.ProjectGrantID)
	}
	lock.Save = func(domain.Project) event.Save {
		return event.Save{
			AggregateID: g.ID, OrganizationID: g.OrgID, Constraints: constraints, Unless: domain.ErrUserGrantNotAllowed, If: givable,
			SQL: `user_grant as (
				insert into user_grants (id, org_id, project_id, project_grant_id, role_keys, user_id, sequence, created_at, changed_at)
				select $9, $10, $11, nullif($12, ''), $13::text[], $14, position, time, time from event
			)`,
			Args: []any{g.ID, g.OrgID, g.ProjectID, g.ProjectGrantID, g.RoleKeys, g.UserID},
		}
	}
	return s.giving(ctx, lock, key, added)
}

// ChangeUserGrant locks a user's grant and saves what change makes of it.
func (s Store) ChangeUserGrant(ctx context.Context, orgID, userID, id string, change func(*domain.UserGrant) (proto.Message, error)) (domain.UserGrant, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.UserGrant]{
		Lock:     `select ` + userGrantColumns + ` from ` + userGrantFrom + userGrantWhere + ` for share of p for update of u`,
		NotFound: domain.ErrUserGrantNotFound,
		Save: func(g domain.UserGrant) event.Save {
			return event.Save{
				AggregateID: g.ID, OrganizationID: g.OrgID, Unless: domain.ErrUserGrantNotAllowed, If: givable,
				SQL: `user_grant as (
					update user_grants set role_keys = $13::text[], sequence = position, changed_at = time from event where id = $9
				)`,
				Args: []any{g.ID, g.OrgID, g.ProjectID, g.ProjectGrantID, g.RoleKeys},
			}
		},
	}, []any{orgID, userID, id}, change)
}

// RemoveUserGrant takes the roles of a user's grant.
func (s Store) RemoveUserGrant(ctx context.Context, orgID, userID, id string, removed func(domain.UserGrant) proto.Message) (domain.UserGrant, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.UserGrant]{
		Lock:     `select ` + userGrantColumns + ` from ` + userGrantFrom + userGrantWhere + ` for share of p for update of u`,
		NotFound: domain.ErrUserGrantNotFound,
		Save: func(g domain.UserGrant) event.Save {
			return event.Save{
				AggregateID: g.ID, OrganizationID: g.OrgID,
				SQL: `gone as (delete from user_grants using event where user_grants.id = $9)`, Args: []any{g.ID},
			}
		},
	}, []any{orgID, userID, id}, func(g *domain.UserGrant) (proto.Message, error) { return removed(*g), nil })
}

// UserGrants begins a search among the grants that an organization gave to users.
func (s Store) UserGrants(orgID string) *search.Query {
	return search.Select(userGrantColumns, userGrantFrom, "u.created_at, u.id").Where("u.org_id = ?", orgID)
}

// SearchUserGrants runs it.
func (s Store) SearchUserGrants(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.UserGrant], error) {
	return search.Read[domain.UserGrant](ctx, s.DB, query, p)
}
