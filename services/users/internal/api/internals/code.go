package internals

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
)

// PrepareMail returns the contents of a mail, with its code, when the mail is to be sent. A notice has no code. It
// shows no address except the recipient's, because the recipient may be somebody else now. It shows the login name only
// to an address that was verified, and otherwise the address instead.
func (s Server) PrepareMail(ctx context.Context, r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
	m, err := s.Store.PrepareMail(ctx, r.NotificationId, r.UserId, s.Now())
	if err != nil {
		return nil, err
	}
	out := reader(m.User, m.OrgName)
	if m.Notice != nil {
		out.Recipient, out.ChangedByReader = m.Notice.Recipient, m.Notice.Own
		out.ChangeDate = timestamppb.New(m.NoticedAt)
		if !m.Notice.Verified {
			out.UserName = m.Notice.Recipient
		}
		if m.AboutOrgID != "" {
			err = s.listExpirations(ctx, m, out)
		}
		return out, err
	}
	out.Code, out.Expiry = s.Codes.Code(m.Purpose, m.ID, m.Nonce), timestamppb.New(m.ExpiresAt)
	if out.Recipient = m.CodedEmail(m.Purpose); m.EmailVerified && out.Recipient == m.Email {
		out.VerifiedEmail = m.Email
	}
	return out, nil
}

// reader returns the fields that are the same for every mail to a user.
func reader(u domain.User, orgName string) *usersv1.PrepareMailResponse {
	r := &usersv1.PrepareMailResponse{
		FirstName: u.FirstName, LastName: u.LastName, NickName: u.NickName, DisplayName: u.DisplayName,
		UserName: u.UserName, PreferredLanguage: u.PreferredLanguage, LastPhone: u.Phone, OrgId: u.OrgID,
		OrgName: orgName, CreationDate: timestamppb.New(u.CreatedAt), ChangeDate: timestamppb.New(u.ChangedAt),
		PasswordSet: u.PasswordHash != "",
	}
	if u.PhoneVerified {
		r.VerifiedPhone = u.Phone
	}
	return r
}

// CheckCode returns the holder of a right code, and whether the code has expired. A wrong code counts as a guess,
// because the response shows that it is wrong. It has no other effect.
func (s Server) CheckCode(ctx context.Context, r *usersv1.CheckCodeRequest) (*usersv1.CheckCodeResponse, error) {
	kind, known := domain.ParseKind(r.Kind)
	if !known {
		return &usersv1.CheckCodeResponse{}, nil
	}
	code, err := s.Guess(ctx, base.TypedCode{Kind: kind, UserID: r.UserId, Code: r.Code})
	expired := errors.Is(err, usersfault.ErrCodeExpired)
	switch {
	case errors.Is(err, usersfault.ErrCodeLocked), errors.Is(err, usersfault.ErrCodeWrong):
		return &usersv1.CheckCodeResponse{}, nil
	case err != nil && !expired:
		return nil, err
	}
	if err := s.Store.UntryCode(ctx, r.UserId, kind, code.MAC); err != nil {
		return nil, err
	}
	h, err := s.Store.CodeHolder(ctx, r.UserId)
	if err != nil {
		return nil, err
	}
	return &usersv1.CheckCodeResponse{Expired: expired, Holder: &usersv1.CodeHolder{
		LoginName: h.UserName, OrgName: h.OrgName, PreferredLanguage: h.PreferredLanguage,
	}}, nil
}

// CompleteCode uses a mailed code: it sets the password or verifies the address. A password that the policy refuses
// does not count as a guess. The password is ignored if the mail asks for none.
func (s Server) CompleteCode(
	ctx context.Context, r *usersv1.CompleteCodeRequest,
) (*usersv1.CompleteCodeResponse, error) {
	kind, known := domain.ParseKind(r.Kind)
	switch {
	case !known:
		return nil, usersfault.ErrCodeWrong
	case !kind.TakesPassword():
		r.Password = ""
	case kind.NeedsPassword() && r.Password == "":
		return nil, usersfault.ErrPasswordRequired
	}
	if r.Password != "" {
		if err := password.Check("password", r.Password); err != nil {
			return nil, err
		}
	}
	t := base.TypedCode{Kind: kind, UserID: r.UserId, Code: r.Code}
	code, err := s.Guess(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := s.Redeem(password.In(ctx, code.OrgID), t, code, r.Password)
	return &usersv1.CompleteCodeResponse{LoginName: done.UserName}, err
}

// RequestCode sends a mail again. The response is the same whether the user exists or not.
func (s Server) RequestCode(ctx context.Context, r *usersv1.RequestCodeRequest) (*usersv1.RequestCodeResponse, error) {
	kind, known := domain.ParseKind(r.Kind)
	if !known {
		return &usersv1.RequestCodeResponse{}, nil
	}
	userID := r.UserId
	if r.LoginName != "" {
		named, err := s.Store.Named(ctx, r.LoginName)
		if err != nil {
			return nil, err
		}
		if userID = named.ID; userID == "" {
			userID = resource.NewID() // the id of nobody, so that the same work is done as for a user
		}
		if named.State == domain.UserInitial {
			kind = domain.KindInit
		}
	}
	err := s.Store.RequestCode(ctx, userID, *s.NewCode(kind, userID), domain.CodePause, base.Requested(kind))
	return &usersv1.RequestCodeResponse{}, err
}
