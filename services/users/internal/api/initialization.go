package api

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/id"
)

// Faults of new passwords (NIST SP 800-63B, 3.1.1.2).
var (
	errPasswordRequired = fault.New(fault.Invalid, "PASSWORD_REQUIRED", "Choose a password").On("password", "is missing")
	errPasswordShort    = fault.New(fault.Invalid, string(password.TooShort), "The password is too short: at least 8 characters")
	errPasswordLong     = fault.New(fault.Invalid, string(password.TooLong), "The password is too long: at most 128 characters")
	errPasswordCommon   = fault.New(fault.Invalid, string(password.TooCommon), "The password is too common: it is among the first that anybody would try")
	errPasswordNotText  = fault.New(fault.Invalid, string(password.NotText), "The password is not valid text")
)

// refusal is the fault of a password that the policy refuses.
func refusal(err error, field string) error {
	for _, f := range []*fault.Fault{errPasswordShort, errPasswordLong, errPasswordCommon, errPasswordNotText} {
		if reason, ok := errors.AsType[password.Refusal](err); ok && string(reason) == f.ID {
			return f.On(field, f.Message)
		}
	}
	return err
}

// newCode derives a code for a mail that is to be sent.
func (u Users) newCode(userID string) *store.NewCode {
	nonce := domain.Nonce()
	code := u.Codes.Code(domain.PurposeInit, userID, nonce)
	return &store.NewCode{Purpose: domain.PurposeInit, NotificationID: id.New(), Nonce: nonce, MAC: u.Codes.MAC(domain.PurposeInit, userID, code)}
}

// PrepareMail hands out what a mail says, the code among it, at the moment of sending.
func (u Users) PrepareMail(ctx context.Context, r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
	m, err := u.Store.PrepareMail(ctx, r.NotificationId, r.UserId, u.Now())
	if err != nil {
		return nil, err
	}
	out := &usersv1.PrepareMailResponse{
		Code: u.Codes.Code(domain.PurposeInit, m.ID, m.Nonce), Expiry: timestamppb.New(m.ExpiresAt), Recipient: m.Email,
		FirstName: m.FirstName, LastName: m.LastName, NickName: m.NickName, DisplayName: m.DisplayName, UserName: m.UserName,
		PreferredLanguage: m.PreferredLanguage, LastPhone: m.Phone, OrgId: m.OrgID, OrgName: m.OrgName,
		CreationDate: timestamppb.New(m.CreatedAt), ChangeDate: timestamppb.New(m.ChangedAt), PasswordSet: m.PasswordHash != "",
	}
	if m.EmailVerified {
		out.VerifiedEmail = m.Email
	}
	if m.PhoneVerified {
		out.VerifiedPhone = m.Phone
	}
	return out, nil
}

// CheckCode tells whoever has the right code that it has expired. Guesses
// learn nothing from it: a live code and a wrong one look alike.
func (u Users) CheckCode(ctx context.Context, r *usersv1.CheckCodeRequest) (*usersv1.CheckCodeResponse, error) {
	code, _, err := u.Store.Code(ctx, r.UserId, domain.PurposeInit)
	if err != nil {
		return nil, err
	}
	right := u.Codes.Right(domain.PurposeInit, r.UserId, r.Code, code.MAC)
	return &usersv1.CheckCodeResponse{Expired: right && u.expired(code)}, nil
}

func (u Users) expired(c store.Code) bool { return c.ExpiresAt != nil && !u.Now().Before(*c.ExpiresAt) }

// CompleteCode takes the mailed code and makes the user active. The guess
// is counted before it is looked at; a password that the policy refuses costs none.
func (u Users) CompleteCode(ctx context.Context, r *usersv1.CompleteCodeRequest) (*usersv1.CompleteCodeResponse, error) {
	if r.Password != "" {
		if err := password.Check(r.Password); err != nil {
			return nil, refusal(err, "password")
		}
	}
	allowed, err := u.Store.TryCode(ctx, r.UserId, domain.PurposeInit, u.Now())
	if err != nil {
		return nil, err
	}
	if !allowed {
		return nil, domain.ErrCodeLocked
	}
	code, _, err := u.Store.Code(ctx, r.UserId, domain.PurposeInit)
	if err != nil {
		return nil, err
	}
	if !u.Codes.Right(domain.PurposeInit, r.UserId, r.Code, code.MAC) {
		return nil, domain.ErrCodeInvalid
	}
	if u.expired(code) {
		return nil, domain.ErrCodeExpired
	}
	hash := ""
	if r.Password != "" {
		if hash, err = u.newPassword(ctx, r.Password, "password"); err != nil {
			return nil, err
		}
	}
	done, err := u.Store.UseCode(ctx, r.UserId, domain.PurposeInit, code.MAC, func(found *domain.User) (proto.Message, error) {
		if hash == "" && found.PasswordHash == "" {
			return nil, errPasswordRequired
		}
		changed, err := found.Initialize(hash)
		return &usersv1.HumanInitialized{State: usersv1.UserState(found.State), Changed: changed}, err
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.CompleteCodeResponse{LoginName: done.UserName}, nil
}

// RequestCode sends the mail again. Whoever asks for whom, the answer
// is the same.
func (u Users) RequestCode(ctx context.Context, r *usersv1.RequestCodeRequest) (*usersv1.RequestCodeResponse, error) {
	requested := &usersv1.HumanInitializationRequested{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED}
	_, err := u.Store.RequestCode(ctx, r.UserId, *u.newCode(r.UserId), domain.CodePause, requested)
	return &usersv1.RequestCodeResponse{}, err
}
