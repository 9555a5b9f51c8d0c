package domain

import (
	"herald/shared/gen/fault/usersfault"
	"herald/shared/mail"
)

// Profile is the names of a person, and the language of mails to that person.
type Profile struct {
	FirstName         string
	LastName          string
	NickName          string
	DisplayName       string // if it is empty, mail.DisplayName makes one
	PreferredLanguage string // as Language returns it
	Gender            int16
}

// Rename replaces the login name. It returns false if the name is the same.
func (u *User) Rename(name string) bool {
	changed := u.UserName != name
	u.UserName = name
	return changed
}

// ChangeProfile replaces the profile of a person. It returns the names of the fields that
// differ.
func (u *User) ChangeProfile(p Profile) (changed []string, err error) {
	if u.Type != Human {
		return nil, usersfault.ErrUserNotHuman
	}
	if p.DisplayName == "" {
		p.DisplayName = mail.DisplayName(p.PreferredLanguage, p.FirstName, p.LastName)
	}
	for _, f := range []struct {
		name  string
		field *string
		to    string
	}{
		{"firstName", &u.FirstName, p.FirstName}, {"lastName", &u.LastName, p.LastName},
		{"nickName", &u.NickName, p.NickName}, {"displayName", &u.DisplayName, p.DisplayName},
		{"preferredLanguage", &u.PreferredLanguage, p.PreferredLanguage},
	} {
		if *f.field != f.to {
			*f.field, changed = f.to, append(changed, "profile."+f.name)
		}
	}
	if u.Gender != p.Gender {
		u.Gender, changed = p.Gender, append(changed, "profile.gender")
	}
	return changed, nil
}

// UnchosenName returns the display name of somebody who has chosen none.
func (u *User) UnchosenName() string {
	return mail.DisplayName(u.PreferredLanguage, u.FirstName, u.LastName)
}

// ChangePhone replaces the phone of a person. It returns the names of the fields that differ.
func (u *User) ChangePhone(phone string, verified bool) (changed []string, err error) {
	if u.Type != Human {
		return nil, usersfault.ErrUserNotHuman
	}
	if u.Phone != phone {
		changed = append(changed, "phone.phone")
	}
	if u.PhoneVerified != verified {
		changed = append(changed, "phone.isPhoneVerified")
	}
	u.Phone, u.PhoneVerified = phone, verified
	return changed, nil
}

// RemovePhone removes the phone of a person.
func (u *User) RemovePhone() error {
	switch {
	case u.Type != Human:
		return usersfault.ErrUserNotHuman
	case u.Phone == "":
		return usersfault.ErrPhoneNotFound
	}
	u.Phone, u.PhoneVerified = "", false
	return nil
}
