package consumer

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api"
	"herald/services/users/internal/domain"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/orgremoval"
)

// Sweep removes the users of an organization, and then the roles that others have in it.
func Sweep(u api.Users) orgremoval.Sweep {
	return func(ctx context.Context, removed event.Delivery) (bool, error) {
		ids, err := u.Store.SomeUsers(ctx, removed.OrganizationID, orgremoval.Batch)
		if err != nil {
			return false, err
		}
		found, err := orgremoval.Each(ids, func(id string) error {
			_, err := u.Store.RemoveUser(ctx, removed.OrganizationID, id, &usersv1.UserRemoved{Cause: removed.ID})
			return err
		})
		if found || err != nil {
			return found, err
		}
		members, err := u.Store.SomeMembers(ctx, removed.OrganizationID, orgremoval.Batch)
		if err != nil {
			return false, err
		}
		found, err = orgremoval.Each(members, func(m domain.Member) error {
			_, err := u.Store.ChangeMember(ctx, m.OrgID, m.ProjectID, m.UserID,
				func(m *domain.Member) (proto.Message, error) {
					m.Assign(nil)
					return &usersv1.MemberRemoved{UserId: m.UserID, ProjectId: m.ProjectID, Cause: removed.ID}, nil
				})
			return err
		})
		if found || err != nil {
			return found, err
		}
		return false, u.Store.ForgetOrg(ctx, removed.OrganizationID)
	}
}
