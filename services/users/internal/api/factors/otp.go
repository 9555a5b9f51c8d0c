// Package factors answers the requests of the service Factors.
package factors

import (
	"context"
	"errors"
	"slices"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
	"herald/shared/secret"
)

// Server implements the service.
type Server struct {
	base.Base
	// OTPIssuer is the name of the system in authenticator apps.
	OTPIssuer string
}

// AddMyOtp adds an authenticator app to the caller's login. With r.Replace it replaces the secret of one that is not
// verified. One that was prepared with openid alone hinders nobody who has more: it is replaced in any case.
func (s Server) AddMyOtp(ctx context.Context, r *usersv1.AddMyOtpRequest) (*usersv1.AddMyOtpResponse, error) {
	c := caller.From(ctx)
	found, err := s.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	if err != nil {
		return nil, err
	}
	key := domain.NewOTPKey()
	f := domain.NewOTP(found, s.SealOTP(found.ID, key.Reveal()), !slices.Contains(c.Scopes, contract.Audience))
	f.Record, err = s.Store.CreateOTP(ctx, f, &usersv1.OtpAdded{})
	if errors.Is(err, usersfault.ErrOTPNotVerified) {
		f, err = s.Store.ChangeOTP(ctx, found.OrgID, found.ID, func(there *domain.OTP) (store.NoticedChange, error) {
			replace := r.Replace || there.OpenIDOnly && !f.OpenIDOnly
			if err := there.Renew(f, s.Now()); err != nil {
				return store.NoticedChange{}, err
			}
			if !replace {
				return store.NoticedChange{}, usersfault.ErrOTPNotVerified
			}
			return store.NoticedChange{Event: &usersv1.OtpAdded{Replaced: true}}, nil
		})
	}
	if err != nil {
		return nil, err
	}
	return &usersv1.AddMyOtpResponse{
		Url: domain.OTPURL(s.OTPIssuer, found.UserName, key), Secret: key.Reveal(),
		Details: resource.Details(f.Record, found.OrgID),
	}, nil
}

// VerifyMyOtp verifies the caller's app with its first code.
func (s Server) VerifyMyOtp(ctx context.Context, r *usersv1.VerifyMyOtpRequest) (*usersv1.VerifyMyOtpResponse, error) {
	c := caller.From(ctx)
	var recovery []string
	f, err := s.ChangeOTP(ctx, c.HomeOrganizationID, c.UserID,
		func(f *domain.OTP, key secret.Text) (_ store.NoticedChange, err error) {
			recovery, err = f.Verify(key, r.Code, s.Now())
			verified := &usersv1.OtpVerified{}
			change := store.NoticedChange{Event: verified}
			change.Notice, verified.Notice = base.OTPNotice(f, domain.KindOTPAdded, true)
			if change.Notice != nil && change.Notice.Counted {
				change.Counts = s.Lasting.NoticeCounts(f.UserID)
			}
			return change, err
		})
	if err != nil {
		return nil, err
	}
	return &usersv1.VerifyMyOtpResponse{Details: resource.Changed(f.Record, f.OrgID), RecoveryCodes: recovery}, nil
}

// RegenerateMyRecoveryCodes replaces the caller's recovery codes.
func (s Server) RegenerateMyRecoveryCodes(
	ctx context.Context, _ *usersv1.RegenerateMyRecoveryCodesRequest,
) (*usersv1.RegenerateMyRecoveryCodesResponse, error) {
	c := caller.From(ctx)
	var recovery []string
	f, err := s.ChangeOTP(ctx, c.HomeOrganizationID, c.UserID,
		func(f *domain.OTP, key secret.Text) (_ store.NoticedChange, err error) {
			recovery, err = f.RenewRecoveryCodes(key)
			return store.NoticedChange{Event: &usersv1.OtpRecoveryCodesRegenerated{}}, err
		})
	if err != nil {
		return nil, err
	}
	return &usersv1.RegenerateMyRecoveryCodesResponse{
		Details: resource.Changed(f.Record, f.OrgID), RecoveryCodes: recovery,
	}, nil
}

// RemoveMyOtp removes the caller's app.
func (s Server) RemoveMyOtp(ctx context.Context, _ *usersv1.RemoveMyOtpRequest) (*usersv1.RemoveOtpResponse, error) {
	c := caller.From(ctx)
	return s.removeOTP(ctx, c.HomeOrganizationID, c.UserID)
}

// RemoveOtp removes the app of a user of the organization acted on.
func (s Server) RemoveOtp(ctx context.Context, r *usersv1.RemoveOtpRequest) (*usersv1.RemoveOtpResponse, error) {
	return s.removeOTP(ctx, base.OrgID(ctx), r.UserId)
}

func (s Server) removeOTP(ctx context.Context, orgID, userID string) (*usersv1.RemoveOtpResponse, error) {
	f, err := s.Store.RemoveOTP(ctx, orgID, userID, func(f *domain.OTP) store.NoticedChange {
		removed := &usersv1.OtpRemoved{}
		change := store.NoticedChange{Event: removed}
		change.Notice, removed.Notice = base.OTPNotice(f, domain.KindOTPRemoved, caller.From(ctx).UserID == f.UserID)
		return change
	})
	return &usersv1.RemoveOtpResponse{Details: resource.Changed(f.Record, orgID)}, err
}

// SearchMyAuthFactors lists the caller's second factors.
func (s Server) SearchMyAuthFactors(
	ctx context.Context, r *usersv1.SearchMyAuthFactorsRequest,
) (*usersv1.SearchAuthFactorsResponse, error) {
	c := caller.From(ctx)
	return s.searchFactors(ctx, c.HomeOrganizationID, c.UserID, r.Query)
}

// SearchAuthFactors lists the second factors of a user of the organization acted on.
func (s Server) SearchAuthFactors(
	ctx context.Context, r *usersv1.SearchAuthFactorsRequest,
) (*usersv1.SearchAuthFactorsResponse, error) {
	return s.searchFactors(ctx, base.OrgID(ctx), r.UserId, r.Query)
}

func (s Server) searchFactors(
	ctx context.Context, orgID, userID string, q *heraldv1.ListQuery,
) (*usersv1.SearchAuthFactorsResponse, error) {
	p, err := s.PageOf(ctx, orgID, userID, q)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.SearchOTP(ctx, orgID, userID, p)
	return &usersv1.SearchAuthFactorsResponse{Details: list.Details(), Result: search.Each(list.Rows, factor)}, err
}

func factor(f domain.OTP) *usersv1.AuthFactor {
	return &usersv1.AuthFactor{
		Details: resource.Details(f.Record, f.OrgID), State: usersv1.AuthFactorState(f.State), ClientIds: f.Clients,
		Type: &usersv1.AuthFactor_Otp{Otp: &usersv1.Otp{RecoveryCodesLeft: uint32(len(f.RecoveryCodes))}},
	}
}
