package domain

import (
	"slices"
	"strings"
	"time"

	"herald/shared/gen/fault/usersfault"
	"herald/shared/resource"
)

// UserState is the state of a user. Only active users get tokens.
type UserState int16

// The states of a user, numbered as in its contract.
const (
	UserActive UserState = iota + 1
	UserInactive
	UserLocked
	// UserInitial waits for the code of the initialize-user mail.
	UserInitial
)

// UserType is person or machine.
type UserType int16

// The types of users, numbered as in their contract.
const (
	Human UserType = iota + 1
	Machine
)

// User is a person or a machine of an organization.
type User struct {
	resource.Record
	ID       string
	OrgID    string
	Type     UserType
	State    UserState
	UserName string

	FirstName         string
	LastName          string
	NickName          string
	DisplayName       string
	PreferredLanguage string
	Gender            int16
	Email             string
	EmailVerified     bool
	// PendingEmail is the address that the user has chosen and not proved yet; empty for none.
	PendingEmail string
	// EmailOutranked reports whether the address was chosen by somebody who lacks a permission that the user got later,
	// or the permission to choose the address of an active user.
	EmailOutranked bool
	Phone          string
	PhoneVerified  bool

	// PasswordHash is an encoded hash, empty without a password; Hash it before use.
	PasswordHash           Hidden
	PasswordChangeRequired bool
	// LockedUntil is when the last of all pauses after wrong passwords ends or ended. It is nil if there was none.
	LockedUntil *time.Time

	// The following fields are of machines. The name of a machine is DisplayName.
	Description     string
	AccessTokenType AccessTokenType
	// SecretHash is the SHA-256 of the client secret in hexadecimal, empty without one.
	SecretHash Hidden

	Generation int64
	// Uninitialized reports whether an inactive or locked user was still waiting for the code of the first mail.
	Uninitialized bool
	// OwedMail is the kind of the first mail of a user whom an import made inactive or locked. The user gets it
	// when the user may log in. It is empty for none.
	OwedMail Kind
}

// Hidden is a text that prints as ***, such as a password hash.
type Hidden string

// String returns ***.
func (Hidden) String() string { return "***" }

// GoString returns ***, for %#v.
func (Hidden) GoString() string { return "***" }

// MarshalText returns ***.
func (Hidden) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Settle sets the state of a new human user: active with a verified e-mail and a password, or with a link to an account
// at an identity provider, else initial. It returns the kind of the mail that the user needs, or "". A linked user may
// verify the e-mail later.
func (u *User) Settle(linked bool) Kind {
	if u.DisplayName == "" {
		u.DisplayName = u.UnchosenName()
	}
	u.State = UserActive
	switch {
	case linked && !u.EmailVerified:
		return KindVerifyEmail
	case linked || u.EmailVerified && u.PasswordHash != "":
		return ""
	}
	u.State = UserInitial
	return KindInit
}

// Awaits returns a fault with the reason if mails of a kind are not sent to the user.
func (u User) Awaits(k Kind) error {
	switch {
	case u.Type != Human:
		return usersfault.ErrUserNotHuman
	case u.State == k.State() && (slices.Contains(k.Verified(), u.EmailVerified) || u.pends(k)):
		if u.EmailOutranked {
			return usersfault.ErrEmailOutranked
		}
		return nil
	case k == KindInit:
		return usersfault.ErrUserNotInitial
	case u.State == UserInitial:
		return usersfault.ErrUserNotInitialized
	case u.State != UserActive:
		return usersfault.ErrUserNotActive
	case u.EmailVerified:
		return usersfault.ErrEmailAlreadyVerified
	default:
		return usersfault.ErrEmailNotVerified
	}
}

// pends reports whether the user waits for the mail to an address that is not the user's before its code is typed.
func (u User) pends(k Kind) bool { return k == KindVerifyEmail && u.PendingEmail != "" }

// CodedEmail returns the address to which a mail of a kind with a code goes.
func (u User) CodedEmail(k Kind) string {
	if u.pends(k) {
		return u.PendingEmail
	}
	return u.Email
}

// Initialize makes a user active who has typed the code of the first mail, which also verifies the
// e-mail. hash is the new password's, or empty if the user has one.
func (u *User) Initialize(hash string) (changed []string, err error) {
	if err := u.Awaits(KindInit); err != nil {
		return nil, err
	}
	changed = []string{"state"}
	if hash != "" {
		u.PasswordHash, u.PasswordChangeRequired = Hidden(hash), false
		changed = append(changed, "password")
	}
	if !u.EmailVerified {
		u.EmailVerified = true
		changed = append(changed, "email.isEmailVerified")
	}
	u.State, u.LockedUntil = UserActive, nil
	return changed, nil
}

// settled makes a waiting user active if nothing that the first mail asks for is missing. It reports whether it did so.
func (u *User) settled() bool {
	if u.State != UserInitial || !u.EmailVerified || u.PasswordHash == "" {
		return false
	}
	u.State = UserActive
	return true
}

// reserved are ids that would mean something else in a path, the name of Herald's API in the audience of tokens, and
// the names of the services, which stand beside ids of users in events and histories.
var reserved = []string{
	".", "..", "me", "human", "machine", "grants", "service",
	"auth", "gateway", "idp", "notification", "projects", "text", "users",
}

const forbidden = "/\\?#%"

// CheckUserID returns a fault if a chosen id cannot be used in a path, or is reserved.
func CheckUserID(id string) error {
	if len(id) > 200 || strings.HasPrefix(id, "_") || slices.Contains(reserved, id) {
		return usersfault.ErrUserIDInvalid
	}
	for _, r := range id {
		if r <= ' ' || r > '~' || strings.ContainsRune(forbidden, r) {
			return usersfault.ErrUserIDInvalid
		}
	}
	return nil
}
