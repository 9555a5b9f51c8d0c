package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// CreateProjectOwner adds the first member of a project. It returns ErrProjectOwnerMade if the project has had one, and
// ErrProjectRemoved if the project was removed.
func (s Store) CreateProjectOwner(ctx context.Context, m domain.Member, added proto.Message) error {
	m.State = domain.MembershipActive // the creation of the project was the user's own act
	save := giveRoles(m, "")
	save.If, save.Unless = `not exists (select from project_owners where project_id = @project_id)`,
		usersfault.ErrProjectOwnerMade
	save.Also(`once as (insert into project_owners (project_id) select @project_id from event)`, nil)
	_, err := s.journal.CreateLocked(ctx, lockReceiver(m.UserID), added, save)
	return err
}

// RemoveProjectMembers removes the members of a removed project. It also removes members who are being added, and later
// ones fail.
func (s Store) RemoveProjectMembers(ctx context.Context, removed event.Delivery) error {
	if _, err := s.journal.DB.Exec(ctx, `with gone as (
			insert into removed_projects (id) values (@project_id) on conflict do nothing
		)
		select pg_advisory_xact_lock(1, hashtext(@project_id))`,
		postgres.Args{"project_id": removed.AggregateID}); err != nil {
		return postgres.Fault(err)
	}
	return s.journal.Follow(ctx, removed, event.Statement{
		Along: `select 'member', 'removed', m.user_id, m.org_id,
				jsonb_build_object('userId', m.user_id, 'projectId', m.project_id)
			from members m where m.org_id = @org_id and m.project_id = @project_id for update`,
		SQL: `gone as (
			delete from members m using along
			where m.org_id = @org_id and m.project_id = @project_id and m.user_id = along.aggregate_id
		)`,
		Args: postgres.Args{"org_id": removed.OrganizationID, "project_id": removed.AggregateID},
	})
}
