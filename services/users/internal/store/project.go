package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
)

// CreateProjectOwner writes the first member of a project. ErrOwnerMade where there has
// been one, or where the project is gone.
func (s Store) CreateProjectOwner(ctx context.Context, m domain.Member, added proto.Message) error {
	save := newMember(m)
	save.If, save.Unless = `not exists (select from project_owners where project_id = @project_id)`, domain.ErrOwnerMade
	save.Also(`once as (insert into project_owners (project_id) select @project_id from event)`, nil)
	_, err := s.journal.Create(ctx, added, save)
	return err
}

// RemoveProjectMembers removes the members of a project that is gone, as an event says.
func (s Store) RemoveProjectMembers(ctx context.Context, removed event.Delivery) error {
	// This waits for an owner who is being made, and lets nobody make another.
	if _, err := s.journal.DB.Exec(ctx, `insert into project_owners (project_id) values (@project_id)
		on conflict do nothing`, postgres.Args{"project_id": removed.AggregateID}); err != nil {
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
