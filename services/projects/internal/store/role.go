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
	roleColumns = `r.project_id, p.org_id, r.key, r.display_name, r."group", r.sequence, r.created_at, r.changed_at`
	roleFrom    = `roles r join projects p on p.id = r.project_id`
	roleWhere   = ` where p.org_id = $1 and r.project_id = $2 and r.key = $3`
)

// The columns that roles are searched by.
var (
	RoleKey         = search.Column{Exact: "r.key", Folded: "r.key_folded"}
	RoleDisplayName = search.Column{Exact: "r.display_name", Folded: "r.display_name_folded"}
)

// RoleKeys reads which of some keys a project has.
func (s Store) RoleKeys(ctx context.Context, orgID, projectID string, keys []string) (found []string, err error) {
	err = s.DB.QueryRow(ctx, `select array(select r.key from `+roleFrom+` where p.org_id = $1 and r.project_id = $2 and r.key = any ($3))`, orgID, projectID, keys).Scan(&found)
	return found, postgres.Fault(err)
}

// CreateRoles adds roles to a project, all or none.
func (s Store) CreateRoles(ctx context.Context, orgID, projectID string, roles []domain.Role, added proto.Message) (resource.Record, error) {
	var keys, foldedKeys, names, foldedNames, groups []string
	for _, r := range roles {
		keys, foldedKeys = append(keys, r.Key), append(foldedKeys, search.Fold(r.Key))
		names, foldedNames = append(names, r.DisplayName), append(foldedNames, search.Fold(r.DisplayName))
		groups = append(groups, r.Group)
	}
	return s.Create(ctx, added, event.Save{
		AggregateID: projectID, OrganizationID: orgID, Constraints: constraints, Unless: domain.ErrProjectNotFound,
		If: `exists (select from projects where id = $9 and org_id = $10 for no key update)`, // locked before the event has its position
		SQL: `role as (
			insert into roles (project_id, key, key_folded, display_name, display_name_folded, "group", sequence, created_at, changed_at)
			select $9, r.key, r.key_folded, r.display_name, r.display_name_folded, r.in_group, position, time, time from event,
				unnest($11::text[], $12::text[], $13::text[], $14::text[], $15::text[]) r (key, key_folded, display_name, display_name_folded, in_group)
		)`,
		Args: []any{projectID, orgID, keys, foldedKeys, names, foldedNames, groups},
	})
}

// ChangeRole locks a role and saves what change makes of it.
func (s Store) ChangeRole(ctx context.Context, orgID, projectID, key string, change func(*domain.Role) (proto.Message, error)) (domain.Role, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Role]{
		Lock:     `select ` + roleColumns + ` from ` + roleFrom + roleWhere + ` for no key update of p for update of r`, // the events are the project's
		NotFound: domain.ErrRoleNotFound,
		Save: func(r domain.Role) event.Save {
			return event.Save{
				AggregateID: r.ProjectID, OrganizationID: r.OrgID,
				SQL: `role as (
					update roles set display_name = $11, display_name_folded = $12, "group" = $13, sequence = position, changed_at = time
					from event where project_id = $9 and key = $10
				)`,
				Args: []any{r.ProjectID, r.Key, r.DisplayName, search.Fold(r.DisplayName), r.Group},
			}
		},
	}, []any{orgID, projectID, key}, change)
}

// RemoveRole removes a role, also from grants and users who hold it. The project is
// locked against those who give its roles meanwhile.
func (s Store) RemoveRole(ctx context.Context, orgID, projectID, key string, removed proto.Message) (domain.Role, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Role]{
		Lock:     `select ` + roleColumns + ` from ` + roleFrom + roleWhere + ` for no key update of p for update of r`,
		NotFound: domain.ErrRoleNotFound,
		Save: func(r domain.Role) event.Save {
			return event.Save{
				AggregateID: r.ProjectID, OrganizationID: r.OrgID,
				SQL: `gone as (
					delete from roles using event where project_id = $9 and key = $10
				), grants as (
					update project_grants set role_keys = array_remove(role_keys, $10), sequence = position, changed_at = time
					from event where project_id = $9 and $10 = any (role_keys)
				), users as (
					update user_grants set role_keys = array_remove(role_keys, $10), sequence = position, changed_at = time
					from event where project_id = $9 and $10 = any (role_keys)
				)`,
				Args: []any{r.ProjectID, r.Key},
			}
		},
	}, []any{orgID, projectID, key}, func(*domain.Role) (proto.Message, error) { return removed, nil })
}

// Roles begins a search among a project's roles.
func (s Store) Roles(orgID, projectID string) *search.Query {
	return search.Select(roleColumns, roleFrom, "r.created_at, r.key").Where("p.org_id = ?", orgID).Where("r.project_id = ?", projectID)
}

// SearchRoles runs it.
func (s Store) SearchRoles(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.Role], error) {
	return search.Read[domain.Role](ctx, s.DB, query, p)
}
