package api

import (
	"context"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/shared/caller"
	"herald/shared/gen/fault/notificationfault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/resource"
)

const (
	// testTime is how long a caller waits for the outcome of a test mail, at most.
	testTime = 20 * time.Second
	// readTime is left of the caller's own time to read and return the outcome.
	readTime = 2 * time.Second
)

// SendTestMail sends one mail and returns its outcome, or after testTime that the mail is still
// being sent.
func (n Notifications) SendTestMail(
	ctx context.Context, r *notificationv1.SendTestMailRequest,
) (*notificationv1.SendTestMailResponse, error) {
	return n.sendTest(ctx, r.Recipient, nil)
}

// sendTest sends a test mail by a route, or by the present one if by is nil.
func (n Notifications) sendTest(
	ctx context.Context, to string, by *delivery.Route,
) (*notificationv1.SendTestMailResponse, error) {
	recipient, err := n.recipient(ctx, to)
	if err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	test := domain.Notification{ID: resource.NewID(), OrgID: c.HomeOrganizationID, UserID: c.UserID, Kind: domain.Test,
		CreatedAt: n.Store.Now(), Recipient: recipient}
	if err := n.try(ctx, test, by); err != nil {
		return nil, err
	}
	tried, err := n.Store.Notification(ctx, test.OrgID, test.UserID, test.ID)
	if err != nil {
		return nil, err
	}
	return &notificationv1.SendTestMailResponse{Notification: notification(tried)}, nil
}

func (n Notifications) try(ctx context.Context, test domain.Notification, by *delivery.Route) error {
	end := time.Now().Add(testTime)
	if callers, ok := ctx.Deadline(); ok && callers.Add(-readTime).Before(end) {
		end = callers.Add(-readTime)
	}
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	return n.Mails.SendTest(ctx, test, by)
}

// recipient returns the requested address, or the caller's own verified one if there is none.
func (n Notifications) recipient(ctx context.Context, asked string) (string, error) {
	if asked != "" {
		if _, err := mail.ParseAddress(asked); err != nil {
			return "", notificationfault.ErrRecipientInvalid
		}
		return asked, nil
	}
	me, err := n.Users.GetMyUser(ctx, &usersv1.GetMyUserRequest{})
	if err != nil {
		return "", err
	}
	own := me.GetUser().GetHuman().GetEmail()
	if !own.GetIsEmailVerified() {
		return "", notificationfault.ErrRecipientRequired
	}
	return own.Email, nil
}
