package consumer

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/orgremoval"
)

// Sweep removes the users of an organization, and then the roles that others have in it.
func Sweep(db store.Store) orgremoval.Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		ids, err := db.SomeUsers(ctx, removed.OrganizationID, orgremoval.Batch)
		if err != nil {
			return false, err
		}
		found, err := orgremoval.Each(ids, func(id string) error {
			_, err := db.RemoveUser(ctx, removed.OrganizationID, id, &usersv1.UserRemoved{Cause: removed.ID})
			return err
		})
		if found || err != nil {
			return found, err
		}
		members, err := db.SomeMembers(ctx, removed.OrganizationID, orgremoval.Batch)
		if err != nil {
			return false, err
		}
		found, err = orgremoval.Each(members, func(m domain.Member) error {
			_, err := db.ChangeMember(ctx, m.OrgID, m.ProjectID, m.UserID,
				func(m *domain.Member) (proto.Message, error) {
					m.Assign(nil)
					return &usersv1.MemberRemoved{UserId: m.UserID, ProjectId: m.ProjectID, Cause: removed.ID}, nil
				})
			return err
		})
		if found || err != nil {
			return found, err
		}
		return false, db.ForgetOrg(ctx, removed.OrganizationID)
	}
}
