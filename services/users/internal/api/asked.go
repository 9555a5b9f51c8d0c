package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailkind"
	"herald/shared/mails"
)

const (
	// askedFor is how long a mail is told of that was asked for: until long after its
	// event should have come, and no longer, so that nothing that has ended is dug up.
	askedFor = 5 * time.Minute
	// askedMost bounds the events that are looked at.
	askedMost = 100
)

// ListAskedMails tells the notifier of the mails to a user of an organization that were
// asked for in the last minutes: their events may still be on the way.
func (u Users) ListAskedMails(
	ctx context.Context, r *usersv1.ListAskedMailsRequest,
) (*usersv1.ListAskedMailsResponse, error) {
	if _, err := u.Store.User(ctx, r.OrgId, r.UserId); err != nil {
		return nil, err
	}
	answer := &usersv1.ListAskedMailsResponse{}
	past := event.Past{OrganizationID: r.OrgId, AggregateID: r.UserId, Since: u.Now().Add(-askedFor), Most: askedMost}
	tell := func(_ context.Context, d event.Delivery, kind mailkind.Kind) error {
		answer.Result = append(answer.Result, &usersv1.AskedMail{
			NotificationId: d.ID, Kind: string(kind), Time: timestamppb.New(d.Time),
		})
		return nil
	}
	err := u.Store.Recall(ctx, past, mails.Handlers(tell)...)
	if err != nil {
		return nil, err
	}
	return answer, nil
}
