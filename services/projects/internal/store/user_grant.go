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
	userGrantColumns = `u.id, u.org_id, u.user_id, u.project_id, coalesce(u.project_grant_id, '') as project_grant_id,
		u.role_keys, u.sequence, u.created_at, u.changed_at, p.name as project_name`
	userGrantFrom = `user_grants u join projects p on p.id = u.project_id`
	readUserGrant = `select ` + userGrantColumns + ` from ` + userGrantFrom +
		` where u.id = @id and u.org_id is not distinct from @org_id and u.user_id is not distinct from @user_id`
	lockUserGrant = readUserGrant + ` for share of p for update of u`

	// holdGranted locks another organization's project while roles of its grant are granted.
	holdGranted = `select ` + projectColumns + ` from projects p where p.id = @id and exists (
			select from project_grants g where g.id = @project_grant_id and g.project_id = p.id
				and g.granted_org_id is not distinct from @org_id
		) for share`

	// holdGrant lets one role at a time be given by a grant, so that only the first one accepts it.
	holdGrant = `select from project_grants where id = @project_grant_id and project_id is not distinct from @id
		and granted_org_id is not distinct from @org_id for no key update`

	// grantable is an SQL condition: the organization can grant all the roles. By a project grant it can grant those of
	// the grant, otherwise those of the project.
	grantable = `@role_keys::text[] <@ case when @project_grant_id = '' then array(select key from roles
		where project_id = @project_id)
		else (select role_keys from project_grants
			where id = @project_grant_id and granted_org_id is not distinct from @event_organization
				and project_id is not distinct from @project_id and state = @grant_active and not exists (
					select from project_grant_acceptances where grant_id = @project_grant_id and state = @grant_ended)
		) end`
)

func userGrantKey(orgID, userID, id string) postgres.Args {
	return postgres.Args{"org_id": orgID, "user_id": userID, "id": id}
}

// UserGrant reads a grant of an organization to a user.
func (s Store) UserGrant(ctx context.Context, orgID, userID, id string) (domain.UserGrant, error) {
	g, err := postgres.One[domain.UserGrant](ctx, s.journal.DB, readUserGrant, userGrantKey(orgID, userID, id))
	return g, postgres.Missing(err, projectsfault.ErrUserGrantNotFound)
}

// CreateUserGrant writes a grant on an organization's own project, or on one that is granted to it. The first one by a
// project grant accepts that grant.
// It returns ErrUserGrantOutdated if the roles or the grant were removed in the meantime.
func (s Store) CreateUserGrant(ctx context.Context, g domain.UserGrant, added proto.Message) (resource.Record, error) {
	lock := event.Locked[domain.Project]{Lock: holdOwn, Args: projectKey(g.OrgID, g.ProjectID),
		NotFound: projectsfault.ErrUserGrantProjectUnknown}
	if g.ProjectGrantID != "" {
		lock.Lock, lock.NotFound = holdGranted, projectsfault.ErrUserGrantProjectGrantUnknown
		lock.LockParts, lock.Args["project_grant_id"] = holdGrant, g.ProjectGrantID
	}
	lock.Write = func(domain.Project) event.Statement {
		args := userGrantArgs(g)
		args["user_id"], args["accepted"] = g.UserID, domain.AcceptanceAccepted
		return event.Statement{
			AggregateID: g.ID, OrganizationID: g.OrgID, Unless: projectsfault.ErrUserGrantOutdated, If: grantable,
			Along: `select 'project_grant', 'accepted', @project_grant_id, @event_organization,
					jsonb_build_object('projectId', @project_id::text)
				where @project_grant_id <> '' and not exists (
					select from project_grant_acceptances where grant_id = @project_grant_id)`,
			SQL: `user_grant as (
				insert into user_grants (
					id, org_id, project_id, project_grant_id, role_keys,
					user_id, sequence, created_at, changed_at)
				select
					@id, @event_organization, @project_id, nullif(@project_grant_id, ''), @role_keys::text[],
					@user_id, position, time, time
				from event
			), ` + accepting,
			Args: args,
		}
	}
	return s.granting(ctx, lock, added)
}

// userGrantArgs are the arguments that a creation and a change have in common.
func userGrantArgs(g domain.UserGrant) postgres.Args {
	return postgres.Args{
		"id": g.ID, "project_id": g.ProjectID, "project_grant_id": g.ProjectGrantID, "role_keys": g.RoleKeys,
		"grant_active": domain.GrantActive, "grant_ended": domain.AcceptanceEnded,
	}
}

// ChangeUserGrant locks a user's grant, calls change and saves the result.
func (s Store) ChangeUserGrant(
	ctx context.Context, orgID, userID, id string, change func(*domain.UserGrant) (proto.Message, error),
) (domain.UserGrant, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.UserGrant]{
		Lock: lockUserGrant, Args: userGrantKey(orgID, userID, id), NotFound: projectsfault.ErrUserGrantNotFound,
		Write: func(g domain.UserGrant) event.Statement {
			return event.Statement{
				AggregateID: g.ID, OrganizationID: g.OrgID, Unless: projectsfault.ErrUserGrantOutdated, If: grantable,
				SQL: `user_grant as (
					update user_grants set role_keys = @role_keys::text[], sequence = position, changed_at = time
						from event where id = @id
				)`,
				Args: userGrantArgs(g),
			}
		},
	}, change)
}

// RemoveUserGrant removes a user's grant with its roles.
func (s Store) RemoveUserGrant(
	ctx context.Context, orgID, userID, id string, remove func(*domain.UserGrant) (proto.Message, error),
) (domain.UserGrant, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.UserGrant]{
		Lock: lockUserGrant, Args: userGrantKey(orgID, userID, id), NotFound: projectsfault.ErrUserGrantNotFound,
		Write: func(g domain.UserGrant) event.Statement { return event.Removal("user_grants", g.ID, g.OrgID) },
	}, remove)
}

// UserGrants returns a query for an organization's grants to users.
func (s Store) UserGrants(orgID string) *search.Query {
	return search.Select(userGrantColumns, userGrantFrom, "u.created_at, u.id").Where("u.org_id = ?", orgID)
}
