package consumer

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/boot"
	"herald/shared/event"
	"herald/shared/expiration"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/orgremoval"
	"herald/shared/retry"
)

// Sweep removes the users of an organization, and then the roles that others have in it.
func Sweep(db store.Store) orgremoval.Sweep {
	users := orgremoval.All(db.SomeUsers, func(ctx context.Context, removed event.Delivery, id string) error {
		_, err := db.RemoveUser(ctx, removed.OrganizationID, id, &usersv1.UserRemoved{Cause: removed.ID})
		return err
	})
	members := orgremoval.All(db.SomeMembers, func(ctx context.Context, removed event.Delivery, m domain.Member) error {
		_, err := db.ChangeMember(ctx, m.OrgID, m.ProjectID, m.UserID, func(m *domain.Member) (proto.Message, error) {
			m.Assign(nil)
			return &usersv1.MemberRemoved{UserId: m.UserID, ProjectId: m.ProjectID, Cause: removed.ID}, nil
		})
		return err
	})
	return orgremoval.InOrder(users, members, func(ctx context.Context, removed event.Delivery) (bool, error) {
		return false, db.ForgetOrg(ctx, removed.OrganizationID)
	})
}

// Expire starts the tasks that announce what ends soon, and delete every hour what has ended. keep is how long
// refused logins are kept.
func Expire(s *boot.Service, db store.Store, keep time.Duration) {
	expiration.Start(s, store.Expiring)
	s.Background(func(ctx context.Context) {
		for retry.Wait(ctx, time.Hour) {
			if err := db.Sweep(ctx, s.Now(), keep); err != nil && ctx.Err() == nil {
				s.Log.WarnContext(ctx, "old guesses at passwords, refused logins, notices and counts of mails stay",
					"err", err)
			}
		}
	})
}
