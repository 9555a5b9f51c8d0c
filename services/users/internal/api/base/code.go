package base

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
)

// NewCode returns a new code for a mail of a kind.
func (b Base) NewCode(kind domain.Kind, userID string) *store.NewCode {
	nonce := domain.Nonce()
	code := b.Codes.Code(kind, userID, nonce)
	return &store.NewCode{
		Kind: kind, NotificationID: resource.NewID(), Nonce: nonce, MAC: b.Codes.MAC(kind, userID, code),
		Nobody: b.Lasting.Stranger(string(kind), userID),
	}
}

// Requested returns the event that requests a mail of a kind.
func Requested(kind domain.Kind) proto.Message {
	switch kind {
	case domain.KindInit:
		return &usersv1.HumanInitializationRequested{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED}
	case domain.KindVerifyEmail:
		return &usersv1.HumanEmailVerificationRequested{Mail: string(kind)}
	default:
		return &usersv1.HumanPasswordResetRequested{Mail: string(kind)}
	}
}

// Redeem hashes the new password, if there is one, and uses a code that was guessed right. If that fails,
// for example because too many passwords wait to be hashed, the guess does not count.
func (b Base) Redeem(ctx context.Context, t TypedCode, c store.Code, password string) (done domain.User, err error) {
	hash := ""
	if password != "" {
		hash, err = b.NextPassword(ctx, c.Outgoing, password, "password")
	}
	if err == nil {
		done, err = b.use(ctx, t, c.MAC, hash)
	}
	if err != nil {
		err = errors.Join(err, b.Store.UntryCode(context.WithoutCancel(ctx), t.UserID, t.Kind, c.MAC))
	}
	return done, err
}

// TypedCode is a code that somebody entered.
type TypedCode struct {
	Kind   domain.Kind
	UserID string
	Code   string
}

// Guess counts a try before it compares the code, and returns the right code, also with ErrCodeExpired.
func (b Base) Guess(ctx context.Context, t TypedCode) (store.Code, error) {
	code, err := b.Store.TryCode(ctx, t.UserID, t.Kind, b.Lasting.Stranger(string(t.Kind), t.UserID))
	switch {
	case err != nil:
		return store.Code{}, err
	case !b.Codes.Right(t.Kind, t.UserID, t.Code, code.MAC):
		return store.Code{}, usersfault.ErrCodeWrong
	case code.ExpiresAt != nil && !b.Now().Before(*code.ExpiresAt):
		return code, usersfault.ErrCodeExpired
	}
	return code, nil
}

// emailVerified returns the change of a verified address, with the notice to the one that was.
func emailVerified(c domain.EmailChange) store.UserChange {
	verified := &usersv1.HumanEmailVerified{Changed: c.Changed}
	change := store.UserChange{Event: verified, Ended: c.Ended}
	if c.Noticed.Address != "" {
		verified.Notice = string(domain.KindEmailChanged)
		change.Notice = NewNotice(c.Noticed, true)
	}
	return change
}

// use uses the code with that MAC, which works once. hash is the new password's, or empty.
func (b Base) use(ctx context.Context, t TypedCode, mac []byte, hash string) (domain.User, error) {
	return b.Store.UseCode(ctx, t.UserID, t.Kind, mac, func(found *domain.User) (store.UserChange, error) {
		if found.Awaits(t.Kind) != nil {
			return store.UserChange{}, usersfault.ErrCodeWrong
		}
		switch t.Kind {
		case domain.KindInit:
			if hash == "" && found.PasswordHash == "" {
				return store.UserChange{}, usersfault.ErrPasswordRequired
			}
			changed, err := found.Initialize(hash)
			initialized := &usersv1.HumanInitialized{State: usersv1.UserState(found.State), Changed: changed}
			return store.UserChange{Event: initialized, ResetTries: true}, err
		case domain.KindVerifyEmail:
			c, err := found.VerifyEmail()
			return emailVerified(c), err
		case domain.KindPasswordReset:
			c, err := found.ResetPassword(domain.Hidden(hash))
			return PasswordChanged(found, c, true), err
		}
		return store.UserChange{}, fmt.Errorf("nothing is done with a code of kind %q", t.Kind)
	})
}
