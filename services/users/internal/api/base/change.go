package base

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// ChangeUser changes a user. It returns the details of the change and the id of the mail that it sends, or "". Only
// mails of users' own changes are counted, so that a person who hijacks an account cannot keep managers from recovering
// it. It returns usersfault.ErrTooManyMails if such a change would send one too many.
func (b Base) ChangeUser(
	ctx context.Context, orgID, userID string, change func(*domain.User) (store.UserChange, error),
) (*heraldv1.ObjectDetails, string, error) {
	found, made, err := b.Store.ChangeUser(ctx, orgID, userID, func(found *domain.User) (store.UserChange, error) {
		c, err := change(found)
		own := IsOwn(ctx, found)
		if own && c.Code != nil {
			c.Counts = b.Lasting.CodeCounts(found.OrgID, found.ID, found.CodedEmail(c.Code.Kind))
		}
		if own && c.Notice != nil && c.Notice.Counted {
			c.Counts = append(c.Counts, b.Lasting.NoticeCounts(found.ID)...)
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

// PasswordChanged returns the change of a password with its notice. own reports whether the user made the change.
func PasswordChanged(found *domain.User, c domain.PasswordChange, own bool) store.UserChange {
	changed := &usersv1.HumanPasswordChanged{State: usersv1.UserState(found.State), Changed: c.Changed}
	change := store.UserChange{Event: changed, Ended: c.Ended, ResetTries: true}
	if c.Noticed.Address != "" {
		changed.Notice = string(domain.KindPasswordChanged)
		change.Notice = NewNotice(c.Noticed, own)
	}
	return change
}

// ChangeEmail returns the change of a user's e-mail, with its mail and its notice.
func (b Base) ChangeEmail(ctx context.Context, found *domain.User, to domain.Email) (store.UserChange, error) {
	c, err := found.ChangeEmail(to)
	return b.EmailChanged(ctx, found, c), err
}

// EmailChanged does the same for a change that was made.
func (b Base) EmailChanged(ctx context.Context, found *domain.User, c domain.EmailChange) store.UserChange {
	if len(c.Changed) == 0 {
		return store.UserChange{}
	}
	changed := &usersv1.HumanEmailChanged{
		State: usersv1.UserState(found.State), Changed: c.Changed, Mail: string(c.Mail),
	}
	change := store.UserChange{Event: changed, Ended: c.Ended}
	if c.Mail != "" {
		change.Code = b.NewCode(c.Mail, found.ID)
	}
	if c.Noticed.Address != "" {
		changed.Notice = string(domain.KindEmailChanged)
		change.Notice = NewNotice(c.Noticed, IsOwn(ctx, found))
		change.Notice.Counted = true // the next one goes to the address that is set now
	}
	return change
}

// NewNotice returns a notice. Notices to a verified address are not counted, because its owner must always be able to
// make another such change.
func NewNotice(to domain.Email, own bool) *store.Notice {
	return &store.Notice{Recipient: to.Address, Verified: to.Verified, Own: own, Counted: !to.Verified}
}

// IsOwn reports whether the caller is the user who is changed.
func IsOwn(ctx context.Context, found *domain.User) bool { return caller.From(ctx).UserID == found.ID }

// ReplaceProfile replaces a person's names, language and gender. If nothing differs, it makes no event.
func (b Base) ReplaceProfile(ctx context.Context, orgID, userID string, r interface {
	GetFirstName() string
	GetLastName() string
	GetNickName() string
	GetDisplayName() string
	GetPreferredLanguage() string
	GetGender() usersv1.Gender
}) (*usersv1.UpdateProfileResponse, error) {
	language, err := domain.Language("preferredLanguage", r.GetPreferredLanguage())
	if err != nil {
		return nil, err
	}
	to := domain.Profile{
		FirstName: r.GetFirstName(), LastName: r.GetLastName(), NickName: r.GetNickName(),
		DisplayName: r.GetDisplayName(), PreferredLanguage: language, Gender: int16(r.GetGender()),
	}
	details, err := b.NoteChange(ctx, orgID, userID, func(found *domain.User) (proto.Message, error) {
		changed, err := found.ChangeProfile(to)
		if len(changed) == 0 {
			return nil, err
		}
		return &usersv1.HumanProfileChanged{Changed: changed}, err
	})
	return &usersv1.UpdateProfileResponse{Details: details}, err
}

// NoteChange changes a user in a way that concerns no code.
func (b Base) NoteChange(
	ctx context.Context, orgID, userID string, change func(*domain.User) (proto.Message, error),
) (*heraldv1.ObjectDetails, error) {
	details, _, err := b.ChangeUser(ctx, orgID, userID, func(found *domain.User) (store.UserChange, error) {
		happened, err := change(found)
		return store.UserChange{Event: happened}, err
	})
	return details, err
}
