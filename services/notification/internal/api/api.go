// Package api implements the methods of the Notifications service.
package api

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/caller"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/rpc"
	"herald/shared/search"
)

// Notifications implements the contract.
type Notifications struct {
	Store       store.Store
	Users       usersv1.UsersClient
	Credentials usersv1.CredentialsClient
	Internal    usersv1.InternalClient
	// Mails sends test mails and is woken for mails that are due at once.
	Mails *delivery.Sender
	// MaxLimit is the largest page of a list.
	MaxLimit int64
}

// ListNotifications returns the mails to a user of the organization acted on. The list is complete:
// it has every mail that users has asked for.
func (n Notifications) ListNotifications(
	ctx context.Context, r *notificationv1.ListNotificationsRequest,
) (*notificationv1.ListNotificationsResponse, error) {
	p, err := search.Bounds(r.Query, n.MaxLimit)
	if err != nil {
		return nil, err
	}
	if err := n.catchUp(ctx, r.UserId); err != nil {
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

// catchUp asks users for the mails of the last minutes and queues those whose events have not come
// yet. A later event finds its mail queued and adds none. catchUp returns the fault of users for
// an unknown user unchanged.
func (n Notifications) catchUp(ctx context.Context, userID string) error {
	orgID := caller.From(ctx).OrganizationID
	asked, err := n.Internal.ListAskedMails(rpc.OnOwnBehalf(ctx),
		&usersv1.ListAskedMailsRequest{OrgId: orgID, UserId: userID})
	if err != nil || len(asked.Result) == 0 {
		return err
	}
	var mails []domain.Notification
	for _, m := range asked.Result {
		kind, err := mail.ParseKind(m.Kind)
		if err != nil {
			return err
		}
		mails = append(mails, domain.Notification{
			ID: m.NotificationId, OrgID: orgID, UserID: userID, Kind: kind, CreatedAt: m.Time.AsTime(),
		})
	}
	added, err := n.Store.Queue(ctx, mails...)
	if added > 0 {
		n.Mails.Wake()
	}
	return err
}

func notification(n domain.Listed) *notificationv1.Notification {
	out := &notificationv1.Notification{
		Id: n.ID, Kind: string(n.Kind), State: notificationv1.NotificationState(n.State), Language: n.Language,
		Recipient: n.Recipient,
	}
	for _, a := range n.Attempts {
		out.Attempts = append(out.Attempts, &notificationv1.Attempt{
			Time: timestamppb.New(a.Time), State: notificationv1.NotificationState(a.State), Reply: a.Reply,
		})
	}
	return out
}
