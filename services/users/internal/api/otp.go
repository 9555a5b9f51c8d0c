package api

import (
	"context"
	"errors"
	"fmt"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
	"herald/shared/secret"
)

// sealOTP seals the secret of a user's app.
func (u Users) sealOTP(userID, key string) []byte {
	return u.Keys.Seal([]byte(key), domain.SealedOTP, userID)
}

// AddMyOtp adds an authenticator app to the caller's login. With r.Replace it replaces the secret
// of one that is not verified.
func (u Users) AddMyOtp(ctx context.Context, r *usersv1.AddMyOtpRequest) (*usersv1.AddMyOtpResponse, error) {
	c := caller.From(ctx)
	found, err := u.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	if err != nil {
		return nil, err
	}
	key := domain.NewOTPKey()
	f := domain.NewOTP(found, u.sealOTP(found.ID, key.Reveal()))
	f.Record, err = u.Store.CreateOTP(ctx, f, &usersv1.OtpAdded{})
	if errors.Is(err, usersfault.ErrOTPNotVerified) {
		f, err = u.Store.ChangeOTP(ctx, found.OrgID, found.ID, func(there *domain.OTP) (store.OTPChange, error) {
			if err := there.Renew(f.Secret); err != nil {
				return store.OTPChange{}, err
			}
			if !r.Replace {
				return store.OTPChange{}, usersfault.ErrOTPNotVerified
			}
			return store.OTPChange{Event: &usersv1.OtpAdded{Replaced: true}}, nil
		})
	}
	if err != nil {
		return nil, err
	}
	return &usersv1.AddMyOtpResponse{
		Url: domain.OTPURL(u.OTPIssuer, found.UserName, key), Secret: key.Reveal(),
		Details: resource.Details(f.Record, found.OrgID),
	}, nil
}

// VerifyMyOtp verifies the caller's app with its first code.
func (u Users) VerifyMyOtp(ctx context.Context, r *usersv1.VerifyMyOtpRequest) (*usersv1.VerifyMyOtpResponse, error) {
	c := caller.From(ctx)
	var recovery []string
	f, err := u.changeOTP(ctx, c.HomeOrganizationID, c.UserID,
		func(f *domain.OTP, key secret.Text) (_ store.OTPChange, err error) {
			recovery, err = f.Verify(key, r.Code, u.Now())
			verified := &usersv1.OtpVerified{}
			change := store.OTPChange{Event: verified}
			change.Notice, verified.Notice = otpNotice(f, domain.KindOTPAdded, true)
			if change.Notice != nil && change.Notice.Counted {
				change.Counts = u.Lasting.NoticeCounts(f.UserID)
			}
			return change, err
		})
	if err != nil {
		return nil, err
	}
	return &usersv1.VerifyMyOtpResponse{Details: resource.Changed(f.Record, f.OrgID), RecoveryCodes: recovery}, nil
}

// changeOTP changes a user's app. It passes the app's secret to change. A wrong code is counted and
// saved, although the call is refused.
func (u Users) changeOTP(
	ctx context.Context, orgID, userID string, change func(*domain.OTP, secret.Text) (store.OTPChange, error),
) (domain.OTP, error) {
	var refusal error
	f, err := u.Store.ChangeOTP(ctx, orgID, userID, func(f *domain.OTP) (store.OTPChange, error) {
		key, err := u.Keys.Open(f.Secret, domain.SealedOTP, f.UserID)
		if err != nil {
			return store.OTPChange{}, fmt.Errorf("one-time-password factor: %w", err)
		}
		happened, err := change(f, secret.NewText(string(key)))
		if !errors.Is(err, usersfault.ErrCodeWrong) {
			return happened, err
		}
		refusal = err
		if f.LockedFor(u.Now()) > 0 {
			return store.OTPChange{Event: &usersv1.OtpLocked{}}, nil
		}
		return store.OTPChange{Event: &usersv1.OtpCodeRefused{}}, nil
	})
	if err == nil {
		err = refusal
	}
	return f, err
}

// RegenerateMyRecoveryCodes replaces the caller's recovery codes.
func (u Users) RegenerateMyRecoveryCodes(
	ctx context.Context, _ *usersv1.RegenerateMyRecoveryCodesRequest,
) (*usersv1.RegenerateMyRecoveryCodesResponse, error) {
	c := caller.From(ctx)
	var recovery []string
	f, err := u.changeOTP(ctx, c.HomeOrganizationID, c.UserID,
		func(f *domain.OTP, key secret.Text) (_ store.OTPChange, err error) {
			recovery, err = f.RenewRecoveryCodes(key)
			return store.OTPChange{Event: &usersv1.OtpRecoveryCodesRegenerated{}}, err
		})
	if err != nil {
		return nil, err
	}
	return &usersv1.RegenerateMyRecoveryCodesResponse{
		Details: resource.Changed(f.Record, f.OrgID), RecoveryCodes: recovery,
	}, nil
}

// RemoveMyOtp removes the caller's app.
func (u Users) RemoveMyOtp(ctx context.Context, _ *usersv1.RemoveMyOtpRequest) (*usersv1.RemoveOtpResponse, error) {
	c := caller.From(ctx)
	return u.removeOTP(ctx, c.HomeOrganizationID, c.UserID)
}

// RemoveOtp removes the app of a user of the organization acted on.
func (u Users) RemoveOtp(ctx context.Context, r *usersv1.RemoveOtpRequest) (*usersv1.RemoveOtpResponse, error) {
	return u.removeOTP(ctx, orgID(ctx), r.UserId)
}

func (u Users) removeOTP(ctx context.Context, orgID, userID string) (*usersv1.RemoveOtpResponse, error) {
	f, err := u.Store.RemoveOTP(ctx, orgID, userID, func(f *domain.OTP) store.OTPChange {
		removed := &usersv1.OtpRemoved{}
		change := store.OTPChange{Event: removed}
		change.Notice, removed.Notice = otpNotice(f, domain.KindOTPRemoved, caller.From(ctx).UserID == f.UserID)
		return change
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.RemoveOtpResponse{Details: resource.Changed(f.Record, orgID)}, nil
}

// SearchMyAuthFactors lists the caller's second factors.
func (u Users) SearchMyAuthFactors(
	ctx context.Context, r *usersv1.SearchMyAuthFactorsRequest,
) (*usersv1.SearchAuthFactorsResponse, error) {
	c := caller.From(ctx)
	return u.searchFactors(ctx, c.HomeOrganizationID, c.UserID, r.Query)
}

// SearchAuthFactors lists the second factors of a user of the organization acted on.
func (u Users) SearchAuthFactors(
	ctx context.Context, r *usersv1.SearchAuthFactorsRequest,
) (*usersv1.SearchAuthFactorsResponse, error) {
	return u.searchFactors(ctx, orgID(ctx), r.UserId, r.Query)
}

func (u Users) searchFactors(
	ctx context.Context, orgID, userID string, q *heraldv1.ListQuery,
) (*usersv1.SearchAuthFactorsResponse, error) {
	p, err := u.pageOf(ctx, orgID, userID, q)
	if err != nil {
		return nil, err
	}
	list, err := u.Store.SearchOTP(ctx, orgID, userID, p)
	if err != nil {
		return nil, err
	}
	return &usersv1.SearchAuthFactorsResponse{Details: list.Details(), Result: search.Each(list.Rows, factor)}, nil
}

func factor(f domain.OTP) *usersv1.AuthFactor {
	return &usersv1.AuthFactor{
		Details: resource.Details(f.Record, f.OrgID), State: usersv1.AuthFactorState(f.State),
		Type: &usersv1.AuthFactor_Otp{Otp: &usersv1.Otp{RecoveryCodesLeft: uint32(len(f.RecoveryCodes))}},
	}
}
