package base

import (
	"context"
	"errors"
	"fmt"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Imported returns the event of a new user. The kind is that of the mail to send, or empty.
func Imported(n *store.NewUser, kind domain.Kind) *usersv1.HumanImported {
	e := &usersv1.HumanImported{
		State: usersv1.UserState(n.State), InitMail: InitMail(kind), IdpIds: idpIDs(n.IdpLinks),
	}
	if kind != domain.KindInit {
		e.Mail = string(kind)
	}
	return e
}

// Human returns checked data as a user of the organization acted on, without id, state and code. It
// replaces a password by its hash.
func (b Base) Human(ctx context.Context, d *usersv1.HumanUserData) (store.NewUser, error) {
	n, err := NewHuman(OrgID(ctx), d)
	if err != nil || d.Password == "" {
		return n, err
	}
	hash, err := b.Passwords.Hash(ctx, d.Password)
	n.PasswordHash = domain.Hidden(hash.Encoded())
	return n, err
}

// NewHuman does the same as Human but does not hash the password.
func NewHuman(orgID string, d *usersv1.HumanUserData) (store.NewUser, error) {
	if err := domain.CheckEmail("email.email", d.Email.Email); err != nil {
		return store.NewUser{}, err
	}
	language, err := domain.Language("profile.preferredLanguage", d.Profile.PreferredLanguage)
	if err != nil {
		return store.NewUser{}, err
	}
	hash, err := passwordHash(d)
	if err != nil {
		return store.NewUser{}, err
	}
	n := store.NewUser{User: domain.User{
		OrgID: orgID, Type: domain.Human, UserName: d.UserName,
		FirstName: d.Profile.FirstName, LastName: d.Profile.LastName, NickName: d.Profile.NickName,
		DisplayName:       d.Profile.DisplayName,
		PreferredLanguage: language, Gender: int16(d.Profile.Gender),
		Email: d.Email.Email, EmailVerified: d.Email.IsEmailVerified,
		Phone: d.Phone.GetPhone(), PhoneVerified: d.Phone.GetIsPhoneVerified(),
		PasswordHash:           domain.Hidden(hash),
		PasswordChangeRequired: d.PasswordChangeRequired && (hash != "" || d.Password != ""),
	}, IdpLinks: NewIdpLinks(d.Idps)}
	if n.HashCost, err = HashCost(n.PasswordHash); err != nil {
		return store.NewUser{}, err
	}
	n.Metadata, err = metadataByKey(d.Metadata)
	return n, err
}

func metadataByKey(list []*usersv1.Metadata) (map[string][]byte, error) {
	if len(list) == 0 {
		return nil, nil
	}
	values := make(map[string][]byte, len(list))
	for i, m := range list {
		if _, known := values[m.Key]; known {
			path := fmt.Sprintf("metadata[%d].key", i)
			return nil, usersfault.ErrMetadataKeyTwice.Say("%s: the key %q is given twice", path, m.Key).
				On(path, "is given twice")
		}
		values[m.Key] = m.Value
	}
	return values, nil
}

// passwordHash returns the hash in the request, or "" if there is none. If the request has a password instead, it
// checks the password.
func passwordHash(d *usersv1.HumanUserData) (string, error) {
	encoded := d.HashedPassword.GetValue()
	switch {
	case encoded != "" && d.Password != "":
		return "", usersfault.ErrPasswordAndHash
	case encoded != "":
		hash, err := password.Parse(encoded)
		if refused, ok := errors.AsType[*password.FormatError](err); ok {
			return "", usersfault.ErrPasswordHashInvalid.Say("hashedPassword.value: %s",
				refused).On("hashedPassword.value",
				refused.Error())
		}
		return hash.Encoded(), err
	case d.Password != "":
		return "", password.Check("password", d.Password)
	default:
		return "", nil
	}
}

// Settle sets the state of a new user and, if a mail is needed, its code. It returns the kind of
// the mail, or "".
func (b Base) Settle(n *store.NewUser) domain.Kind {
	kind := n.Settle(len(n.IdpLinks) > 0)
	if kind != "" {
		n.Code = b.NewCode(kind, n.ID)
	}
	return kind
}

// InitMail returns whether the mail to a new user is the initialize-user mail.
func InitMail(kind domain.Kind) usersv1.InitMail {
	if kind == domain.KindInit {
		return usersv1.InitMail_INIT_MAIL_QUEUED
	}
	return usersv1.InitMail_INIT_MAIL_NOT_NEEDED
}
