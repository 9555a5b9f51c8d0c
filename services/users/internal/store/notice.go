package store

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/mailer"
	"herald/shared/postgres"
)

// Notice is a mail about a change of the user. Its id is made from the id of the event.
type Notice struct {
	Recipient string
	// Verified reports whether the address was verified.
	Verified bool
	// Own reports whether the user made the change.
	Own bool
	// Counted reports whether the notice counts. After too many of these the user's own changes are refused.
	Counted bool `db:"-"`
}

// NoticedChange is the event of a change, and the notice to a user that it names; nil for none.
type NoticedChange struct {
	Event  proto.Message
	Notice *Notice
	// Counts are those of Notice; nil if it is not counted.
	Counts []domain.MailCount
}

// save adds the notice to a statement, if there is one.
func (c NoticedChange) save(s *event.Statement, userID string) {
	if c.Notice != nil {
		c.Notice.save(s, userID)
	}
	if len(c.Counts) > 0 {
		countMails(s, c.Counts)
	}
}

// save adds SQL that stores the contents of the notice to a user.
func (n Notice) save(s *event.Statement, userID string) {
	s.Also(`noticed as (
		insert into notices (id, user_id, recipient, verified, own, time)
		select @event_id::text || @of_notice, @noticed, @recipient, @recipient_verified, @own, time from event
	)`, postgres.Args{"of_notice": mailer.OfNotice, "noticed": userID, "recipient": n.Recipient,
		"recipient_verified": n.Verified, "own": n.Own})
}

// notice returns the contents of a notice. It returns ErrNotificationObsolete if its user was removed, or may not get a
// mail about another organization any more.
func (s Store) notice(ctx context.Context, notificationID, userID string) (Mail, error) {
	n, err := postgres.One[struct {
		domain.User
		Notice
		NoticedAt  time.Time
		OrgName    string
		AboutOrgID string
		Owner      bool
	}](ctx, s.journal.DB, `select `+prefixed("u", userColumns)+`, n.recipient, n.verified, n.own, n.time as noticed_at,
			o.name as org_name, coalesce(n.about_org_id, '') as about_org_id, exists (select from active_members m
				where m.user_id = u.id and m.org_id = n.about_org_id and `+ownsOrg+`) as owner
		from notices n join users u on u.id = n.user_id join organizations h on h.id = u.org_id
			join organizations o on o.id = coalesce(n.about_org_id, u.org_id)
		where n.id = @notification_id and n.user_id is not distinct from @user_id
			and (n.about_org_id is null or `+noticeable+`)`,
		postgres.Args{"notification_id": notificationID, "user_id": userID})
	return Mail{User: n.User, OrgName: n.OrgName, Notice: &n.Notice, NoticedAt: n.NoticedAt, AboutOrgID: n.AboutOrgID,
			Owner: n.Owner},
		postgres.Missing(err, usersfault.ErrNotificationObsolete)
}
