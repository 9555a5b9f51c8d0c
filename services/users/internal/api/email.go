package api

import (
	"context"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
)

// UpdateEmail replaces a user's e-mail.
func (u Users) UpdateEmail(ctx context.Context, r *usersv1.UpdateEmailRequest) (*usersv1.UpdateEmailResponse, error) {
	if err := domain.CheckEmail("email", r.Email); err != nil {
		return nil, err
	}
	details, notification, err := u.changeUser(ctx, orgID(ctx), r.UserId,
		func(found *domain.User) (store.UserChange, error) {
			to := domain.Email{Address: r.Email, Verified: r.IsEmailVerified}
			if err := mayChangeEmail(ctx, found, to); err != nil {
				return store.UserChange{}, err
			}
			return u.changeEmail(ctx, found, to)
		})
	return &usersv1.UpdateEmailResponse{Details: details, NotificationId: notification}, err
}

// mayChangeEmail refuses callers who may change users but not credentials, if the e-mail is one.
func mayChangeEmail(ctx context.Context, found *domain.User, to domain.Email) error {
	const permission = "user.credential.write"
	if found.EmailIsCredential(to) && !caller.From(ctx).Can(permission, "") {
		return rpc.Denied(permission, orgID(ctx))
	}
	return nil
}

// UpdateMyEmail replaces the caller's e-mail. A new address is not verified. The same address stays
// as it is.
func (u Users) UpdateMyEmail(
	ctx context.Context, r *usersv1.UpdateMyEmailRequest,
) (*usersv1.UpdateMyEmailResponse, error) {
	if err := domain.CheckEmail("email", r.Email); err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	details, notification, err := u.changeUser(ctx, c.HomeOrganizationID, c.UserID,
		func(found *domain.User) (store.UserChange, error) {
			return u.changeEmail(ctx, found, domain.Email{
				Address: r.Email, Verified: found.EmailVerified && r.Email == found.Email,
			})
		})
	return &usersv1.UpdateMyEmailResponse{Details: details, NotificationId: notification}, err
}

func (u Users) changeEmail(ctx context.Context, found *domain.User, to domain.Email) (store.UserChange, error) {
	c, err := found.ChangeEmail(to)
	if err != nil || len(c.Changed) == 0 {
		return store.UserChange{}, err
	}
	changed := &usersv1.HumanEmailChanged{
		State: usersv1.UserState(found.State), Changed: c.Changed, Mail: string(c.Mail),
	}
	change := store.UserChange{Event: changed, Ended: c.Ended}
	if c.Mail != "" {
		change.Code = u.newCode(c.Mail, found.ID)
	}
	if c.Noticed.Address != "" {
		changed.Notice = string(domain.KindEmailChanged)
		change.Notice = newNotice(c.Noticed, isOwn(ctx, found))
		change.Notice.Counted = true // the next one goes to the address that is set now
	}
	return change, nil
}

// ResendEmailVerification sends the mail that asks a user to verify the address again.
func (u Users) ResendEmailVerification(
	ctx context.Context, r *usersv1.ResendEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	return u.resendVerification(ctx, orgID(ctx), r.UserId)
}

// ResendMyEmailVerification sends the mail that asks the caller to verify the address
// again.
func (u Users) ResendMyEmailVerification(
	ctx context.Context, _ *usersv1.ResendMyEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	c := caller.From(ctx)
	return u.resendVerification(ctx, c.HomeOrganizationID, c.UserID)
}

func (u Users) resendVerification(
	ctx context.Context, orgID, userID string,
) (*usersv1.ResendEmailVerificationResponse, error) {
	details, notification, err := u.sendCode(ctx, orgID, userID, domain.KindVerifyEmail)
	return &usersv1.ResendEmailVerificationResponse{Details: details, NotificationId: notification}, err
}

// VerifyMyEmail verifies the caller's e-mail with the mailed code.
func (u Users) VerifyMyEmail(
	ctx context.Context, r *usersv1.VerifyMyEmailRequest,
) (*usersv1.VerifyMyEmailResponse, error) {
	c := caller.From(ctx)
	found, err := u.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	if err != nil {
		return nil, err
	}
	if err := found.Awaits(domain.KindVerifyEmail); err != nil {
		return nil, err
	}
	t := typed{domain.KindVerifyEmail, c.UserID, r.Code}
	code, err := u.guess(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := u.redeem(ctx, t, code, "")
	if err != nil {
		return nil, err
	}
	return &usersv1.VerifyMyEmailResponse{Details: resource.Changed(done.Record, done.OrgID)}, nil
}
