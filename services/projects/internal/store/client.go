package store

import (
	"context"

	"herald/services/projects/internal/domain"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
)

// Client returns the application with a client id, of any organization, and its key of that id.
func (s Store) Client(ctx context.Context, clientID, keyID string) (domain.Client, error) {
	c, err := postgres.One[domain.Client](ctx, s.journal.DB, `select
			a.id, a.project_id, a.org_id, a.name, a.state, a.generation, a.oidc_config, a.api_config,
			a.secret_hash, a.former_secret_hash, a.former_secret_until, a.sequence, a.created_at, a.changed_at,
			p.state as project_state, p.generation as project_generation, p.name as project_name,
			p.project_role_assertion, p.project_role_check, p.has_project_check, p.private_labeling_setting,
			coalesce(k.id, '') as key_id, k.public_key
		from applications a
		join projects p on p.id = a.project_id
		left join application_keys k on k.application_id = a.id and k.id = @key_id and k.expires_at > @now
		where a.id = @id`, postgres.Args{"id": clientID, "key_id": keyID, "now": s.Now()})
	return c, postgres.Missing(err, projectsfault.ErrAppNotFound)
}

// Access returns the roles of a user of an organization on a project. A role by a project grant counts only while the
// grant is active and has the role.
func (s Store) Access(ctx context.Context, projectID, userID, orgID string) (domain.Access, error) {
	type row struct {
		OrgHasProject bool
		Key           *string
		OrgID         *string
	}
	rows, err := postgres.All[row](ctx, s.journal.DB, `select
			p.org_id = @org_id or exists (
				select from project_grants g
				where g.project_id = p.id and g.granted_org_id = @org_id and g.state = @active
			) as org_has_project, granted.key, granted.org_id
		from projects p
		left join lateral (
			select distinct role.key, u.org_id
			from user_grants u
			left join project_grants g on g.id = u.project_grant_id
			cross join unnest(u.role_keys) role (key)
			where u.project_id = p.id and u.user_id = @user_id
				and (u.project_grant_id is null or g.state = @active and role.key = any (g.role_keys))
		) granted on true
		where p.id = @project_id
		order by granted.key, granted.org_id`,
		postgres.Args{"project_id": projectID, "user_id": userID, "org_id": orgID, "active": domain.GrantActive})
	var a domain.Access
	for _, r := range rows {
		a.OrgHasProject = r.OrgHasProject
		if r.Key != nil {
			a.Roles = append(a.Roles, domain.GrantedRole{Key: *r.Key, OrgID: *r.OrgID})
		}
	}
	if err == nil && len(rows) == 0 {
		err = projectsfault.ErrProjectNotFound
	}
	return a, err
}
