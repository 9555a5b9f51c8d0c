package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// newCode returns a new code for a mail of a kind.
func (u Users) newCode(kind domain.Kind, userID string) *store.NewCode {
	nonce := domain.Nonce()
	code := u.Codes.Code(kind, userID, nonce)
	return &store.NewCode{
		Kind: kind, NotificationID: resource.NewID(), Nonce: nonce, MAC: u.Codes.MAC(kind, userID, code),
		Nobody: u.Lasting.Stranger(string(kind), userID),
	}
}

// requested returns the event that requests a mail of a kind.
func requested(kind domain.Kind) proto.Message {
	switch kind {
	case domain.KindInit:
		return &usersv1.HumanInitializationRequested{InitMail: usersv1.InitMail_INIT_MAIL_QUEUED}
	case domain.KindVerifyEmail:
		return &usersv1.HumanEmailVerificationRequested{Mail: string(kind)}
	default:
		return &usersv1.HumanPasswordResetRequested{Mail: string(kind)}
	}
}

// changeUser changes a user. It returns the details of the change and the id of the mail that it sends, or "". Only
// mails of users' own changes are counted, so that who hijacks an account cannot keep managers from recovering it. It
// returns usersfault.ErrTooManyMails if such a change would send one too many.
func (u Users) changeUser(
	ctx context.Context, orgID, userID string, change func(*domain.User) (store.UserChange, error),
) (*heraldv1.ObjectDetails, string, error) {
	found, made, err := u.Store.ChangeUser(ctx, orgID, userID, func(found *domain.User) (store.UserChange, error) {
		c, err := change(found)
		own := isOwn(ctx, found)
		if own && c.Code != nil {
			c.Counts = u.Lasting.CodeCounts(found.OrgID, found.ID, found.Email)
		}
		if own && c.Notice != nil && c.Notice.Counted {
			c.Counts = append(c.Counts, u.Lasting.NoticeCounts(found.ID)...)
		}
		return c, err
	})
	if err != nil {
		return nil, "", err
	}
	details := resource.Changed(found.Record, found.OrgID)
	if made.Code == nil {
		return details, "", nil
	}
	return details, made.Code.NotificationID, nil
}

// sendCode sends a mail with a new code to a user who waits for such a mail.
func (u Users) sendCode(
	ctx context.Context, orgID, userID string, kind domain.Kind,
) (*heraldv1.ObjectDetails, string, error) {
	return u.changeUser(ctx, orgID, userID, func(found *domain.User) (store.UserChange, error) {
		return store.UserChange{Event: requested(kind), Code: u.newCode(kind, userID)}, found.Awaits(kind)
	})
}

// ResendInitialization sends the initialize-user mail again, to the address in the request if it has
// one.
func (u Users) ResendInitialization(
	ctx context.Context, r *usersv1.ResendInitializationRequest,
) (*usersv1.ResendInitializationResponse, error) {
	if r.Email != "" {
		if err := domain.CheckEmail("email", r.Email); err != nil {
			return nil, err
		}
	}
	details, notification, err := u.changeUser(ctx, orgID(ctx), r.UserId,
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
			return store.UserChange{Event: asked, Code: u.newCode(domain.KindInit, found.ID)}, nil
		})
	return &usersv1.ResendInitializationResponse{Details: details, NotificationId: notification}, err
}

// PrepareMail returns the contents of a mail, with its code, when the mail is to be sent. A notice has no code
// and names no address but the recipient's, which may belong to somebody else now. It tells the login name only to
// an address that was verified; to another one it shows the address in its place.
func (u Users) PrepareMail(ctx context.Context, r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
	m, err := u.Store.PrepareMail(ctx, r.NotificationId, r.UserId, u.Now())
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
		return out, nil
	}
	out.Code, out.Expiry, out.Recipient = u.Codes.Code(m.Purpose, m.ID, m.Nonce), timestamppb.New(m.ExpiresAt), m.Email
	if m.EmailVerified {
		out.VerifiedEmail = m.Email
	}
	return out, nil
}

// reader returns what every mail to a user can say.
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

// CheckCode says whose code it is, if it is right, and whether it has expired. A wrong code counts as a
// guess, because the response shows that it is wrong. It has no other effect.
func (u Users) CheckCode(ctx context.Context, r *usersv1.CheckCodeRequest) (*usersv1.CheckCodeResponse, error) {
	kind, known := domain.ParseKind(r.Kind)
	if !known {
		return &usersv1.CheckCodeResponse{}, nil
	}
	code, err := u.guess(ctx, typed{kind, r.UserId, r.Code})
	expired := errors.Is(err, usersfault.ErrCodeExpired)
	switch {
	case errors.Is(err, usersfault.ErrCodeLocked), errors.Is(err, usersfault.ErrCodeWrong):
		return &usersv1.CheckCodeResponse{}, nil
	case err != nil && !expired:
		return nil, err
	}
	if err := u.Store.UntryCode(ctx, r.UserId, kind, code.MAC); err != nil {
		return nil, err
	}
	h, err := u.Store.CodeHolder(ctx, r.UserId)
	if err != nil {
		return nil, err
	}
	return &usersv1.CheckCodeResponse{Expired: expired, Holder: &usersv1.CodeHolder{
		LoginName: h.UserName, OrgName: h.OrgName, PreferredLanguage: h.PreferredLanguage,
	}}, nil
}

// CompleteCode uses a mailed code: it sets the password or verifies the address. A password that the
// policy refuses does not count as a guess. It is ignored if the mail asks for none.
func (u Users) CompleteCode(
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
	t := typed{kind, r.UserId, r.Code}
	code, err := u.guess(ctx, t)
	if err != nil {
		return nil, err
	}
	done, err := u.redeem(password.In(ctx, code.OrgID), t, code, r.Password)
	if err != nil {
		return nil, err
	}
	return &usersv1.CompleteCodeResponse{LoginName: done.UserName}, nil
}

// redeem hashes the new password, if there is one, and uses a code that was guessed right. If that fails,
// for example because too many passwords wait to be hashed, the guess does not count.
func (u Users) redeem(ctx context.Context, t typed, c store.Code, password string) (done domain.User, err error) {
	hash := ""
	if password != "" {
		hash, err = u.nextPassword(ctx, c.Outgoing, password, "password")
	}
	if err == nil {
		done, err = u.use(ctx, t, c.MAC, hash)
	}
	if err != nil {
		err = errors.Join(err, u.Store.UntryCode(context.WithoutCancel(ctx), t.userID, t.kind, c.MAC))
	}
	return done, err
}

// typed is a code that somebody entered.
type typed struct {
	kind   domain.Kind
	userID string
	code   string
}

// guess counts a try before it compares the code, and returns the right code, also with ErrCodeExpired.
func (u Users) guess(ctx context.Context, t typed) (store.Code, error) {
	code, err := u.Store.TryCode(ctx, t.userID, t.kind, u.Lasting.Stranger(string(t.kind), t.userID))
	switch {
	case err != nil:
		return store.Code{}, err
	case !u.Codes.Right(t.kind, t.userID, t.code, code.MAC):
		return store.Code{}, usersfault.ErrCodeWrong
	case code.ExpiresAt != nil && !u.Now().Before(*code.ExpiresAt):
		return code, usersfault.ErrCodeExpired
	}
	return code, nil
}

// use uses the code with that MAC, which works once. hash is the new password's, or empty.
func (u Users) use(ctx context.Context, t typed, mac []byte, hash string) (domain.User, error) {
	return u.Store.UseCode(ctx, t.userID, t.kind, mac, func(found *domain.User) (store.UserChange, error) {
		if found.Awaits(t.kind) != nil {
			return store.UserChange{}, usersfault.ErrCodeWrong
		}
		switch t.kind {
		case domain.KindInit:
			if hash == "" && found.PasswordHash == "" {
				return store.UserChange{}, usersfault.ErrPasswordRequired
			}
			changed, err := found.Initialize(hash)
			initialized := &usersv1.HumanInitialized{State: usersv1.UserState(found.State), Changed: changed}
			return store.UserChange{Event: initialized}, err
		case domain.KindVerifyEmail:
			changed, err := found.VerifyEmail()
			return store.UserChange{Event: &usersv1.HumanEmailVerified{Changed: changed}}, err
		case domain.KindPasswordReset:
			c, err := found.ResetPassword(domain.Hidden(hash))
			return passwordChanged(found, c, true), err
		}
		return store.UserChange{}, fmt.Errorf("nothing is done with a code of kind %q", t.kind)
	})
}

// RequestCode sends a mail again. The response is the same whether the user exists or not.
func (u Users) RequestCode(ctx context.Context, r *usersv1.RequestCodeRequest) (*usersv1.RequestCodeResponse, error) {
	kind, known := domain.ParseKind(r.Kind)
	if !known {
		return &usersv1.RequestCodeResponse{}, nil
	}
	userID := r.UserId
	if r.LoginName != "" {
		named, err := u.Store.Named(ctx, r.LoginName)
		if err != nil {
			return nil, err
		}
		if userID = named.ID; userID == "" {
			userID = resource.NewID() // nobody's: the same is done as for somebody
		}
		if named.State == domain.UserInitial {
			kind = domain.KindInit
		}
	}
	err := u.Store.RequestCode(ctx, userID, *u.newCode(kind, userID), domain.CodePause, requested(kind))
	return &usersv1.RequestCodeResponse{}, err
}
