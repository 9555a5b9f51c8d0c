package api

import (
	"context"
	"fmt"

	"herald/services/notification/internal/domain"
	"herald/shared/caller"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// ResendNotification sends a mail at once that waits, leaves one alone that is under way,
// and asks users, as the caller, for a new one of the same kind in place of one that has
// ended. A new one is in the list when it is answered, before its event has come.
func (n Notifications) ResendNotification(ctx context.Context, r *notificationv1.ResendNotificationRequest) (*notificationv1.ResendNotificationResponse, error) {
	orgID := caller.From(ctx).OrganizationID
	found, err := n.Store.Hurry(ctx, orgID, r.UserId, r.NotificationId)
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
		if err := n.Store.Queue(ctx, found); err != nil {
			return nil, err
		}
	}
	n.Mails.Wake()
	return &notificationv1.ResendNotificationResponse{NotificationId: found.ID}, nil
}

// renew asks for a new mail and answers with its notification's id.
func (n Notifications) renew(ctx context.Context, userID, kind string) (string, error) {
	switch kind {
	case domain.Init:
		r, err := n.Users.ResendInitialization(ctx, &usersv1.ResendInitializationRequest{UserId: userID})
		return r.GetNotificationId(), err
	case domain.VerifyEmail:
		r, err := n.Users.ResendEmailVerification(ctx, &usersv1.ResendEmailVerificationRequest{UserId: userID})
		return r.GetNotificationId(), err
	case domain.PasswordReset:
		r, err := n.Users.RequestPasswordReset(ctx, &usersv1.RequestPasswordResetRequest{UserId: userID})
		return r.GetNotificationId(), err
	}
	return "", fmt.Errorf("there is no mail of kind %q", kind)
}
