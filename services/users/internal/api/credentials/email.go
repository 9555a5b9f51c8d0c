package credentials

import (
	"context"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/rpc"
)

// sendCode sends a mail with a new code to a user who waits for such a mail.
func (s Server) sendCode(
	ctx context.Context, orgID, userID string, kind domain.Kind,
) (*heraldv1.ObjectDetails, string, error) {
	return s.ChangeUser(ctx, orgID, userID, func(found *domain.User) (store.UserChange, error) {
		return store.UserChange{Event: base.Requested(kind), Code: s.NewCode(kind, userID)}, found.Awaits(kind)
	})
}

// ResendInitialization sends the initialize-user mail again, to the address in the request if it has
// one.
func (s Server) ResendInitialization(
	ctx context.Context, r *usersv1.ResendInitializationRequest,
) (*usersv1.ResendInitializationResponse, error) {
	if r.Email != "" {
		if err := domain.CheckEmail("email", r.Email); err != nil {
			return nil, err
		}
	}
	details, notification, err := s.ChangeUser(ctx, base.OrgID(ctx), r.UserId,
		func(found *domain.User) (store.UserChange, error) {
			outranked := found.EmailOutranked
			found.EmailOutranked = outranked && r.Email == ""
			if err := found.Awaits(domain.KindInit); err != nil {
				return store.UserChange{}, err
			}
			asked := &usersv1.HumanInitializationRequested{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED}
			if r.Email != "" && (r.Email != found.Email || outranked) {
				if err := mayChangeEmail(ctx, found, domain.Email{Address: r.Email}); err != nil {
					return store.UserChange{}, err
				}
				found.Email, found.EmailVerified = r.Email, false
				asked.Changed = []string{"email.email"}
			}
			return store.UserChange{Event: asked, Code: s.NewCode(domain.KindInit, found.ID)}, nil
		})
	return &usersv1.ResendInitializationResponse{Details: details, NotificationId: notification}, err
}

// UpdateEmail replaces a user's e-mail.
func (s Server) UpdateEmail(ctx context.Context, r *usersv1.UpdateEmailRequest) (*usersv1.UpdateEmailResponse, error) {
	if err := domain.CheckEmail("email", r.Email); err != nil {
		return nil, err
	}
	details, notification, err := s.ChangeUser(ctx, base.OrgID(ctx), r.UserId,
		func(found *domain.User) (store.UserChange, error) {
			to := domain.Email{Address: r.Email, Verified: r.IsEmailVerified}
			if err := mayChangeEmail(ctx, found, to); err != nil {
				return store.UserChange{}, err
			}
			return s.ChangeEmail(ctx, found, to)
		})
	return &usersv1.UpdateEmailResponse{Details: details, NotificationId: notification}, err
}

// mayChangeEmail refuses callers who may change users but not credentials, if the e-mail is a credential.
func mayChangeEmail(ctx context.Context, found *domain.User, to domain.Email) error {
	const permission = "user.credential.write"
	if found.EmailIsCredential(to) && !caller.From(ctx).Can(permission, "") {
		return rpc.Denied(permission, base.OrgID(ctx))
	}
	return nil
}

// UpdateMyEmail replaces the caller's e-mail. A verified one stays until the new one is verified.
func (s Server) UpdateMyEmail(
	ctx context.Context, r *usersv1.UpdateMyEmailRequest,
) (*usersv1.UpdateMyEmailResponse, error) {
	if err := domain.CheckEmail("email", r.Email); err != nil {
		return nil, err
	}
	c := caller.From(ctx)
	details, notification, err := s.ChangeUser(ctx, c.HomeOrganizationID, c.UserID,
		func(found *domain.User) (store.UserChange, error) {
			c, err := found.ChooseEmail(r.Email)
			return s.EmailChanged(ctx, found, c), err
		})
	return &usersv1.UpdateMyEmailResponse{Details: details, NotificationId: notification}, err
}

// ResendEmailVerification sends the mail that asks a user to verify the address again.
func (s Server) ResendEmailVerification(
	ctx context.Context, r *usersv1.ResendEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	return s.resendVerification(ctx, base.OrgID(ctx), r.UserId)
}

// ResendMyEmailVerification sends the mail that asks the caller to verify the address
// again.
func (s Server) ResendMyEmailVerification(
	ctx context.Context, _ *usersv1.ResendMyEmailVerificationRequest,
) (*usersv1.ResendEmailVerificationResponse, error) {
	c := caller.From(ctx)
	return s.resendVerification(ctx, c.HomeOrganizationID, c.UserID)
}

func (s Server) resendVerification(
	ctx context.Context, orgID, userID string,
) (*usersv1.ResendEmailVerificationResponse, error) {
	details, notification, err := s.sendCode(ctx, orgID, userID, domain.KindVerifyEmail)
	return &usersv1.ResendEmailVerificationResponse{Details: details, NotificationId: notification}, err
}

// VerifyMyEmail verifies the caller's e-mail with the mailed code.
func (s Server) VerifyMyEmail(
	ctx context.Context, r *usersv1.VerifyMyEmailRequest,
) (*usersv1.VerifyMyEmailResponse, error) {
	c := caller.From(ctx)
	found, err := s.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	if err != nil {
		return nil, err
	}
	if err := found.Awaits(domain.KindVerifyEmail); err != nil {
		return nil, err
	}
	t := base.TypedCode{Kind: domain.KindVerifyEmail, UserID: c.UserID, Code: r.Code}
	code, err := s.Guess(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := s.Redeem(ctx, t, code, "")
	return &usersv1.VerifyMyEmailResponse{Details: resource.Changed(done.Record, done.OrgID)}, err
}
