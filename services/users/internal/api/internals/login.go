package internals

import (
	"cmp"
	"context"
	"errors"
	"time"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

// CheckPassword returns the user with a login name and a password. It counts a guess before it checks it. All refusals
// of a password take the same time, whoever is asked for.
func (s Server) CheckPassword(
	ctx context.Context, r *usersv1.CheckPasswordRequest,
) (*usersv1.CheckPasswordResponse, error) {
	began := time.Now()
	found, err := s.Store.TryLogin(ctx, store.LoginTry{
		LoginName: r.LoginName, Browser: r.Browser, Known: r.BrowserUserIds,
	}, s.Lasting)
	if err != nil {
		return nil, err
	}
	hash, err := password.Parse(string(found.PasswordHash))
	if err != nil {
		return nil, err
	}
	line := r.Client
	if hash.Slow(r.Password) { // many of them delay only logins of their organization; the answer's time is the same
		line = found.OrgID
	}
	right, outdated, err := s.Passwords.Verify(password.In(ctx, line), hash, r.Password)
	switch {
	case err != nil && !errors.Is(err, usersfault.ErrPasswordTooLong):
		return nil, errors.Join(err, s.Store.UntryLogin(context.WithoutCancel(ctx), found))
	case !right:
		if err := s.PausePassword(ctx, found.User, found.PausedUntil); err != nil {
			return nil, err
		}
		return nil, cmp.Or(s.Passwords.Refuse(ctx, began, found.Specimens, r.Password), error(usersfault.ErrLoginWrong))
	}
	next := password.Hash{}
	if outdated { // a login does not fail if this fails
		next, _ = s.Passwords.Hash(password.In(ctx, r.Client), r.Password)
	}
	if err := s.Store.LoggedIn(ctx, found, found.Refusal(), domain.Hidden(next.Encoded())); err != nil {
		return nil, err
	}
	return &usersv1.CheckPasswordResponse{
		UserId: found.ID, OrgId: found.OrgID, State: usersv1.UserState(found.State),
		OrgActive: found.OrgState == domain.OrgActive, Generation: uint64(found.Generation),
		OrgGeneration: uint64(found.OrgGeneration), Credential: domain.CredentialPassword,
		NeedsFactor: found.OTPReady, ChangeRequired: found.PasswordChangeRequired,
	}, nil
}

// CheckFactor checks a code of a user whose password was right.
func (s Server) CheckFactor(
	ctx context.Context, r *usersv1.CheckFactorRequest,
) (*usersv1.CheckFactorResponse, error) {
	found, err := s.loggingIn(ctx, r.UserId, r.Generation)
	if err != nil {
		return nil, err
	}
	accepted := &usersv1.OtpAccepted{}
	_, err = s.ChangeOTP(ctx, found.OrgID, found.ID, func(f *domain.OTP, key secret.Text) (store.NoticedChange, error) {
		had := len(f.RecoveryCodes)
		err := f.Check(key, r.Code, s.Now())
		change := store.NoticedChange{Event: accepted}
		if accepted.RecoveryCode = len(f.RecoveryCodes) < had; accepted.RecoveryCode {
			change.Notice, accepted.Notice = base.OTPNotice(f, domain.KindRecoveryCodeUsed, true)
		}
		return change, err
	})
	if errors.Is(err, usersfault.ErrOTPLocked) { // other wrong codes have an event of their own
		err = cmp.Or(s.Store.CountRefusedLogin(ctx, found, usersfault.ErrOTPLocked), err)
	}
	if errors.Is(err, usersfault.ErrOTPNotFound) || errors.Is(err, usersfault.ErrOTPNotReady) {
		return nil, usersfault.ErrLoginOver
	}
	return &usersv1.CheckFactorResponse{RecoveryCode: accepted.RecoveryCode}, err
}

// ChooseNextPassword replaces a password that was right and must be changed.
func (s Server) ChooseNextPassword(
	ctx context.Context, r *usersv1.ChooseNextPasswordRequest,
) (*usersv1.ChooseNextPasswordResponse, error) {
	if r.Password == "" {
		return nil, usersfault.ErrPasswordRequired
	}
	if err := password.Check("password", r.Password); err != nil {
		return nil, err
	}
	found, err := s.loggingIn(ctx, r.UserId, r.Generation)
	if err != nil {
		return nil, err
	}
	hash, err := s.NextPassword(password.In(ctx, found.OrgID), found.Outgoing(), r.Password, "password")
	if err != nil {
		return nil, err
	}
	// The person chooses it, after a login with the old password: whoever made that one may be the person.
	changed, _, err := s.Store.ChangeUser(asPerson(ctx, found.ID, found.OrgID, "password"), found.OrgID, found.ID,
		func(now *domain.User) (store.UserChange, error) {
			c, err := now.ReplaceRequired(int64(r.Generation), domain.Hidden(hash))
			return base.PasswordChanged(now, c, true), err
		})
	return &usersv1.ChooseNextPasswordResponse{Generation: uint64(changed.Generation)}, err
}

// asPerson returns a context in which a person acts who has logged in with a credential.
func asPerson(ctx context.Context, userID, orgID, credential string) context.Context {
	return caller.With(ctx, caller.Caller{UserID: userID, OrganizationID: orgID, Credential: credential})
}

// loggingIn returns a user whose password was right, or usersfault.ErrLoginOver if the user has changed since.
func (s Server) loggingIn(ctx context.Context, id string, generation uint64) (domain.User, error) {
	found, err := s.Store.AnyUser(ctx, id)
	if errors.Is(err, usersfault.ErrUserNotFound) {
		return domain.User{}, usersfault.ErrLoginOver
	}
	if err == nil {
		err = found.IsOf(int64(generation))
	}
	return found, err
}
