package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	roleColumns = `r.project_id, p.org_id, r.key, r.display_name, r."group", r.sequence, r.created_at, r.changed_at`
	roleFrom    = `roles r join projects p on p.id = r.project_id`

	// lockRole also locks the project, because the events belong to the project, and so that the role is not granted in
	// the meantime.
	lockRole = `select ` + roleColumns + ` from ` + roleFrom +
		` where r.project_id = @project_id and r.key = @key and p.org_id is not distinct from @org_id
		for no key update of p for update of r`
)

// The columns that roles are searched by.
var (
	RoleKey         = search.Column{Exact: "r.key", Folded: "r.key_folded"}
	RoleDisplayName = search.Column{Exact: "r.display_name", Folded: "r.display_name_folded"}
)

// RoleKeys returns those of the keys that are roles of a project.
func (s Store) RoleKeys(ctx context.Context, orgID, projectID string, keys []string) (found []string, err error) {
	err = s.journal.DB.QueryRow(ctx, `select array(select r.key from `+roleFrom+`
		where r.project_id = @project_id and r.key = any (@keys) and p.org_id is not distinct from @org_id)`,
		postgres.Args{"org_id": orgID, "project_id": projectID, "keys": keys}).Scan(&found)
	return found, postgres.Fault(err)
}

// CreateRoles adds roles to a project, all or none. Each role has an event. added is the first event, and the cause of
// the others.
func (s Store) CreateRoles(
	ctx context.Context, orgID, projectID string, roles []domain.Role, added proto.Message,
) (resource.Record, error) {
	var keys, foldedKeys, names, foldedNames, groups []string
	for _, r := range roles {
		keys, foldedKeys = append(keys, r.Key), append(foldedKeys, search.Fold(r.Key))
		names, foldedNames = append(names, r.DisplayName), append(foldedNames, search.Fold(r.DisplayName))
		groups = append(groups, r.Group)
	}
	return s.journal.Create(ctx, added, event.Statement{
		AggregateID: projectID, OrganizationID: orgID, Unless: projectsfault.ErrProjectNotFound,
		// The project is locked before the event has its position.
		If: `exists (select from projects where id = @project_id and org_id is not distinct from @event_organization
			for no key update)`,
		Along: `select 'project', 'role_added', @project_id::text, @event_organization::text,
				jsonb_build_object('key', key)
			from unnest((@keys::text[])[2:]) key`,
		SQL: `role as (
			insert into roles (
				project_id, key, key_folded, display_name, display_name_folded, "group",
				sequence, created_at, changed_at)
			select
				@project_id, r.key, r.key_folded, r.display_name, r.display_name_folded, r.in_group,
				coalesce(along.position, event.position), event.time, event.time
			from event cross join unnest(@keys::text[], @keys_folded::text[], @names::text[], @names_folded::text[],
					@groups::text[]) r (key, key_folded, display_name, display_name_folded, in_group)
				left join along on along.data ->> 'key' = r.key
		)`,
		Args: postgres.Args{
			"project_id": projectID, "keys": keys, "keys_folded": foldedKeys, "names": names,
			"names_folded": foldedNames, "groups": groups,
		},
	})
}

func roleKey(orgID, projectID, key string) postgres.Args {
	return postgres.Args{"org_id": orgID, "project_id": projectID, "key": key}
}

// ChangeRole locks a role, calls change and saves the result.
func (s Store) ChangeRole(
	ctx context.Context, orgID, projectID, key string, change func(*domain.Role) (proto.Message, error),
) (domain.Role, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Role]{
		Lock: lockRole, Args: roleKey(orgID, projectID, key), NotFound: projectsfault.ErrProjectRoleNotFound,
		Write: func(r domain.Role) event.Statement {
			return event.Statement{
				AggregateID: r.ProjectID, OrganizationID: r.OrgID,
				SQL: `role as (
					update roles set display_name = @display_name, display_name_folded = @display_name_folded,
						"group" = @group, sequence = position, changed_at = time
					from event where project_id = @project_id and key = @key
				)`,
				Args: postgres.Args{
					"project_id": r.ProjectID, "key": r.Key, "display_name": r.DisplayName,
					"display_name_folded": search.Fold(r.DisplayName), "group": r.Group,
				},
			}
		},
	}, change)
}

// RemoveRole removes a role, also from grants and users who hold it.
func (s Store) RemoveRole(
	ctx context.Context, orgID, projectID, key string, removed proto.Message,
) (domain.Role, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Role]{
		Lock: lockRole, Args: roleKey(orgID, projectID, key), NotFound: projectsfault.ErrProjectRoleNotFound,
		Write: func(r domain.Role) event.Statement {
			return event.Statement{
				AggregateID: r.ProjectID, OrganizationID: r.OrgID,
				Along: `select 'project_grant', 'changed', g.id, @event_organization::text, jsonb_build_object(
						'projectId', g.project_id, 'grantedOrgId', g.granted_org_id, 'changed', array['roleKeys'])
					from project_grants g where g.project_id = @project_id and @key = any (g.role_keys)
					union all
					select 'user_grant', 'changed', u.id, u.org_id,
						jsonb_build_object('userId', u.user_id, 'projectId', u.project_id, 'changed', array['roleKeys'])
					from user_grants u where u.project_id = @project_id and @key = any (u.role_keys)`,
				SQL: `gone as (
					delete from roles using event where project_id = @project_id and key = @key
				), grants as (
					update project_grants g set role_keys = array_remove(g.role_keys, @key),
						sequence = along.position, changed_at = along.time
					from along where along.aggregate = 'project_grant' and along.aggregate_id = g.id
				), users as (
					update user_grants u set role_keys = array_remove(u.role_keys, @key),
						sequence = along.position, changed_at = along.time
					from along where along.aggregate = 'user_grant' and along.aggregate_id = u.id
				)`,
				Args: postgres.Args{"project_id": r.ProjectID, "key": r.Key},
			}
		},
	}, func(*domain.Role) (proto.Message, error) { return removed, nil })
}

// Roles returns a query for the roles of a project.
func (s Store) Roles(orgID, projectID string) *search.Query {
	return search.Select(roleColumns, roleFrom, "r.created_at, r.key").
		Where("p.org_id = ?", orgID).Where("r.project_id = ?", projectID)
}
