package store

import (
	"context"

	"herald/services/projects/internal/domain"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/postgres"
	"herald/shared/search"
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

// FindTaken returns those of some ids that are or were a project's or an application's, of any organization, also in
// capital letters. An application's id is also its client id. Ids of removed ones are known from their events, which
// stay for ever.
func (s Store) FindTaken(ctx context.Context, ids []string) ([]string, error) {
	type row struct{ ID string }
	found, err := postgres.All[row](ctx, s.journal.DB, `select asked.id from unnest(@ids::text[]) asked (id)
		where exists (
			select from events e where e.aggregate_id = lower(asked.id) and e.aggregate in ('project', 'application'))`,
		postgres.Args{"ids": ids})
	return search.Each(found, func(r row) string { return r.ID }), err
}

// Access returns what a user of an organization, and the organization of an application, have on those of some projects
// that exist, by id. A role by a project grant counts only while the grant is active and has the role.
func (s Store) Access(ctx context.Context, q domain.AccessQuery) ([]domain.Access, error) {
	type row struct {
		domain.Project
		OrgHasProject bool
		Grounds       string

		RoleKey, RoleOrgID *string
	}
	rows, err := postgres.All[row](ctx, s.journal.DB, `with held as (
			select g.project_id, g.granted_org_id, concat_ws('.', g.id, g.generation, x.sequence) as grounds
			from project_grants g join project_grant_acceptances x on x.grant_id = g.id and x.state = @accepted
			where g.project_id = any (@project_ids) and g.granted_org_id in (@org_id, @client_org_id)
				and g.state = @active
		)
		select `+postgres.Each("p.", projectColumns)+`,
			p.org_id = @org_id or users.project_id is not null as org_has_project,
			case
				when p.state <> @project_active then ''
				when p.org_id = @client_org_id then p.generation::text
				when clients.grounds <> '' then p.generation || '.' || clients.grounds
				else ''
			end as grounds, granted.key as role_key, granted.org_id as role_org_id
		from projects p
		left join held users on users.project_id = p.id and users.granted_org_id = @org_id
		left join held clients on clients.project_id = p.id and clients.granted_org_id = @client_org_id
		left join lateral (
			select distinct role.key, u.org_id
			from user_grants u
			left join project_grants g on g.id = u.project_grant_id
			cross join unnest(u.role_keys) role (key)
			where u.project_id = p.id and u.user_id = @user_id
				and (u.project_grant_id is null or g.state = @active and role.key = any (g.role_keys))
		) granted on true
		where p.id = any (@project_ids)
		order by p.id, granted.key, granted.org_id`,
		postgres.Args{"project_ids": q.ProjectIDs, "user_id": q.UserID, "org_id": q.OrgID,
			"client_org_id": q.ClientOrgID, "active": domain.GrantActive, "project_active": domain.ProjectActive,
			"accepted": domain.AcceptanceAccepted})
	var all []domain.Access
	for _, r := range rows {
		if len(all) == 0 || all[len(all)-1].Project.ID != r.ID {
			all = append(all, domain.Access{Project: r.Project, OrgHasProject: r.OrgHasProject,
				Grounds: r.Grounds})
		}
		if a := &all[len(all)-1]; r.RoleKey != nil {
			a.Roles = append(a.Roles, domain.GrantedRole{Key: *r.RoleKey, OrgID: *r.RoleOrgID})
		}
	}
	return all, err
}
