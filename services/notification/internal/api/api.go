// Package api answers the requests of the Notifications service.
package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/mail"
	"herald/services/notification/internal/store"
	"herald/shared/caller"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/page"
)

// Notifications implements the contract.
type Notifications struct {
	Store store.Store
	Users usersv1.UsersClient
	// Mails sends what is asked for here.
	Mails *mail.Sender
	// MaxLimit is the largest page of a list.
	MaxLimit int64
}

var _ notificationv1.NotificationsServer = Notifications{}

// ListNotifications lists the mails to a user of the organization acted on. Who the
// users are is not known here: for an unknown one the list is empty.
func (n Notifications) ListNotifications(ctx context.Context, r *notificationv1.ListNotificationsRequest) (*notificationv1.ListNotificationsResponse, error) {
	p, err := page.Bounds(r.Query, n.MaxLimit)
	if err != nil {
		return nil, err
	}
	list, err := n.Store.List(ctx, caller.From(ctx).OrganizationID, r.UserId, p)
	if err != nil {
		return nil, err
	}
	answer := &notificationv1.ListNotificationsResponse{Details: list.Details()}
	for _, row := range list.Rows {
		answer.Result = append(answer.Result, notification(row))
	}
	return answer, nil
}

func notification(n domain.Listed) *notificationv1.Notification {
	out := &notificationv1.Notification{
		Id: n.ID, Kind: n.Kind, State: notificationv1.NotificationState(n.State), Language: n.Language, Recipient: n.Recipient,
	}
	for _, a := range n.Attempts {
		out.Attempts = append(out.Attempts, &notificationv1.Attempt{
			Time: timestamppb.New(a.Time), State: notificationv1.NotificationState(a.State), Reply: a.Reply,
		})
	}
	return out
}
