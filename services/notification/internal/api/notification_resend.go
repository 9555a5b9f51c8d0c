package api

import (
	"context"
	"errors"
	"fmt"

	"herald/services/notification/internal/domain"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/notificationfault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

// ResendNotification makes a waiting mail due at once; if the mail is being sent it does nothing.
// If the mail has ended it asks users, in the caller's name, for a new one of the same kind. The
// new mail is in the list as soon as this returns.
func (n Notifications) ResendNotification(
	ctx context.Context, r *notificationv1.ResendNotificationRequest,
) (*notificationv1.ResendNotificationResponse, error) {
	orgID := caller.From(ctx).OrganizationID
	found, err := n.hurry(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case found.Kind == domain.Test:
		return nil, notificationfault.ErrTestMailSentOnce
	case found.State == domain.Sending:
		return &notificationv1.ResendNotificationResponse{NotificationId: found.ID}, nil
	case !found.State.Waits() && found.Kind.Notice():
		return nil, notificationfault.ErrNoticeSentOnce
	case !found.State.Waits():
		id, err := n.renew(ctx, r.UserId, found.Kind)
		if err != nil {
			return nil, err
		}
		found = domain.Notification{ID: id, OrgID: orgID, UserID: r.UserId, Kind: found.Kind, CreatedAt: n.Store.Now()}
		if _, err := n.Store.Queue(ctx, found); err != nil {
			return nil, err
		}
	}
	n.Mails.Wake()
	return &notificationv1.ResendNotificationResponse{NotificationId: found.ID}, nil
}

// hurry makes a waiting mail due at once, also one whose event has not come yet. It returns
// ErrNotificationNotFound for a user who does not exist.
func (n Notifications) hurry(
	ctx context.Context, r *notificationv1.ResendNotificationRequest,
) (domain.Notification, error) {
	orgID := caller.From(ctx).OrganizationID
	found, err := n.Store.Hurry(ctx, orgID, r.UserId, r.NotificationId)
	if !errors.Is(err, notificationfault.ErrNotificationNotFound) {
		return found, err
	}
	if err := n.catchUp(ctx, r.UserId); err != nil {
		if fault.From(err).Code == fault.NotFound {
			return found, notificationfault.ErrNotificationNotFound
		}
		return found, err
	}
	return n.Store.Hurry(ctx, orgID, r.UserId, r.NotificationId)
}

// renew asks for a new mail and returns its notification's id.
func (n Notifications) renew(ctx context.Context, userID string, kind mail.Kind) (string, error) {
	switch kind {
	case mail.Init:
		r, err := n.Credentials.ResendInitialization(ctx, &usersv1.ResendInitializationRequest{UserId: userID})
		return r.GetNotificationId(), err
	case mail.VerifyEmail:
		r, err := n.Credentials.ResendEmailVerification(ctx, &usersv1.ResendEmailVerificationRequest{UserId: userID})
		return r.GetNotificationId(), err
	case mail.PasswordReset:
		r, err := n.Credentials.RequestPasswordReset(ctx, &usersv1.RequestPasswordResetRequest{UserId: userID})
		return r.GetNotificationId(), err
	}
	return "", fmt.Errorf("users cannot be asked for another mail of kind %q", kind)
}
