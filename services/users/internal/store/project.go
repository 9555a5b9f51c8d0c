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
	save.If, save.Unless = `not exists (select from project_owners where project_id = $11)`, domain.ErrOwnerMade
	save.Also(`once as (insert into project_owners (project_id) select ? from event)`, m.ProjectID)
	_, err := s.Create(ctx, added, save)
	return err
}

// RemoveProjectMembers forgets the members of a project that is gone. They have no
// events of their own: the project's says it.
func (s Store) RemoveProjectMembers(ctx context.Context, orgID, projectID string) error {
	var b pgx.Batch                                                                                  // one transaction
	b.Queue(`insert into project_owners (project_id) values ($1) on conflict do nothing`, projectID) // waits for an owner who is being made
	b.Queue(`delete from members where org_id = $1 and project_id = $2`, orgID, projectID)
	return postgres.Fault(s.DB.SendBatch(ctx, &b).Close())
}
