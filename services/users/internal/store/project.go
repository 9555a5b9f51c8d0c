package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
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

// RemoveProjectMembers forgets the members of a project that is gone. They have no
// events of their own: the project's says it.
func (s Store) RemoveProjectMembers(ctx context.Context, orgID, projectID string) error {
	var b pgx.Batch // one transaction
	// This waits for an owner who is being made.
	b.Queue(`insert into project_owners (project_id) values (@project_id) on conflict do nothing`,
		postgres.Args{"project_id": projectID})
	b.Queue(`delete from members where org_id = @org_id and project_id = @project_id`,
		postgres.Args{"org_id": orgID, "project_id": projectID})
	return postgres.Fault(s.journal.DB.SendBatch(ctx, &b).Close())
}
