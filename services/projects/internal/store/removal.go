package store

import (
	"context"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// RemoveGrantsOfUser removes the grants of all organizations to the user whose removal was delivered. It also removes
// grants that are being written, and later ones fail.
func (s Store) RemoveGrantsOfUser(ctx context.Context, removed event.Delivery) error {
	if _, err := s.journal.DB.Exec(ctx, `with gone as (
			insert into removed_users (id) values (@user_id) on conflict do nothing
		)
		select pg_advisory_xact_lock(1, hashtext(@user_id))`,
		postgres.Args{"user_id": removed.AggregateID}); err != nil {
		return postgres.Fault(err)
	}
	return s.journal.Follow(ctx, removed, event.Statement{
		Along: `select 'user_grant', 'removed', u.id, u.org_id,
				jsonb_build_object('userId', u.user_id, 'projectId', u.project_id)
			from user_grants u where u.user_id = @user_id for update`,
		SQL:  `gone as (delete from user_grants u using along where u.id = along.aggregate_id)`,
		Args: postgres.Args{"user_id": removed.AggregateID},
	})
}

// SomeProjects returns at most so many projects of an organization.
func (s Store) SomeProjects(ctx context.Context, orgID string, most int) ([]domain.Project, error) {
	return postgres.All[domain.Project](ctx, s.journal.DB, `select `+projectColumns+` from projects
		where org_id = @org_id order by created_at, id limit @most`, postgres.Args{"org_id": orgID, "most": most})
}

// SomeGrantsTo returns at most so many grants of other organizations' projects to an organization.
func (s Store) SomeGrantsTo(ctx context.Context, grantedOrgID string, most int) ([]domain.ProjectGrant, error) {
	return postgres.All[domain.ProjectGrant](ctx, s.journal.DB, `select `+grantColumns+` from `+grantFrom+`
		where g.granted_org_id = @org_id order by g.created_at, g.id limit @most`,
		postgres.Args{"org_id": grantedOrgID, "most": most})
}
