package api

import (
	"context"
	"errors"
	"fmt"

	"herald/services/notification/internal/domain"
	"herald/shared/caller"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailkind"
)

// ResendNotification sends a mail at once that waits, leaves one alone that is under way,
// and asks users, as the caller, for a new one of the same kind in place of one that has
// ended. A new one is in the list when it is answered, before its event has come.
func (n Notifications) ResendNotification(
	ctx context.Context, r *notificationv1.ResendNotificationRequest,
) (*notificationv1.ResendNotificationResponse, error) {
	orgID := caller.From(ctx).OrganizationID
	found, err := n.hurry(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case found.Kind == domain.Test:
		return nil, domain.ErrTest
	case found.State == domain.Sending:
		return &notificationv1.ResendNotificationResponse{NotificationId: found.ID}, nil
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

// hurry makes a mail due at once that waits, also one whose event is still to come. Where
// there is no such user there is no such mail.
func (n Notifications) hurry(
	ctx context.Context, r *notificationv1.ResendNotificationRequest,
) (domain.Notification, error) {
	orgID := caller.From(ctx).OrganizationID
	found, err := n.Store.Hurry(ctx, orgID, r.UserId, r.NotificationId)
	if !errors.Is(err, domain.ErrNotFound) {
		return found, err
	}
	if err := n.catchUp(ctx, r.UserId); err != nil {
		if fault.From(err).Code == fault.NotFound {
			return found, domain.ErrNotFound
		}
		return found, err
	}
	return n.Store.Hurry(ctx, orgID, r.UserId, r.NotificationId)
}

// renew asks for a new mail and returns its notification's id.
func (n Notifications) renew(ctx context.Context, userID string, kind mailkind.Kind) (string, error) {
	switch kind {
	case mailkind.Init:
		r, err := n.Users.ResendInitialization(ctx, &usersv1.ResendInitializationRequest{UserId: userID})
		return r.GetNotificationId(), err
	case mailkind.VerifyEmail:
		r, err := n.Users.ResendEmailVerification(ctx, &usersv1.ResendEmailVerificationRequest{UserId: userID})
		return r.GetNotificationId(), err
	case mailkind.PasswordReset:
		r, err := n.Users.RequestPasswordReset(ctx, &usersv1.RequestPasswordResetRequest{UserId: userID})
		return r.GetNotificationId(), err
	}
	return "", fmt.Errorf("users cannot be asked for another mail of kind %q", kind)
}
