package base

import (
	"context"
	"errors"
	"fmt"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

// OTPNotice returns the notice of a change of an app and its kind; neither if nobody gets one. own reports whether the
// user made the change.
func OTPNotice(f *domain.OTP, kind domain.Kind, own bool) (*store.Notice, string) {
	return notice(f.Noticed(), kind, own)
}

// CredentialNotice does the same for a new token or linked account of a user.
func CredentialNotice(u *domain.User, kind domain.Kind, own bool) (*store.Notice, string) {
	return notice(u.NoticedCredential(), kind, own)
}

func notice(to domain.Email, kind domain.Kind, own bool) (*store.Notice, string) {
	if to.Address == "" {
		return nil, ""
	}
	return NewNotice(to, own), string(kind)
}

// SealOTP seals the secret of a user's app.
func (b Base) SealOTP(userID, key string) []byte {
	return b.Keys.Seal([]byte(key), domain.SealedOTP, userID)
}

// ChangeOTP changes a user's app. It passes the app's secret to change. A wrong code is counted and
// saved, although the call is refused.
func (b Base) ChangeOTP(
	ctx context.Context, orgID, userID string, change func(*domain.OTP, secret.Text) (store.NoticedChange, error),
) (domain.OTP, error) {
	var refusal error
	f, err := b.Store.ChangeOTP(ctx, orgID, userID, func(f *domain.OTP) (store.NoticedChange, error) {
		key, err := b.Keys.Open(f.Secret, domain.SealedOTP, f.UserID)
		if err != nil {
			return store.NoticedChange{}, fmt.Errorf("one-time-password factor: %w", err)
		}
		happened, err := change(f, secret.NewText(string(key)))
		if !errors.Is(err, usersfault.ErrCodeWrong) {
			return happened, err
		}
		refusal = err
		if f.LockedFor(b.Now()) > 0 {
			return store.NoticedChange{Event: &usersv1.OtpLocked{}}, nil
		}
		return store.NoticedChange{Event: &usersv1.OtpCodeRefused{}}, nil
	})
	if err == nil {
		err = refusal
	}
	return f, err
}
