package domain

import (
	"encoding/binary"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/secret"
)

// CredentialPassword is the credential of logins with a password.
const CredentialPassword = "password"

// RefusalsTogether is the time of which the refused logins of a user are counted together, for each reason.
const RefusalsTogether = 15 * time.Minute

// Candidate is the user with a login name, before the password is checked.
type Candidate struct {
	User
	OrgState      OrgState
	OrgGeneration int64
	// OTPReady reports whether the login needs a code too.
	OTPReady bool
	// Browser counts the guesses in a browser in which the user logged in before. It is empty in others.
	Browser string `db:"-"`
	// TriedAt is when the guess was counted.
	TriedAt time.Time `db:"-"`
	// PausedUntil is when the pause ends that this guess begins if it is wrong. It is zero for none.
	PausedUntil time.Time `db:"-"`
	// Specimens are the slowest hashes, one of each format, that people were imported with.
	Specimens []string `db:"-"`
	// Stranger counts the guesses if nobody has the login name.
	Stranger Stranger `db:"-"`
}

// Refusal returns why the user may not log in even with the right password, or nil.
func (c Candidate) Refusal() *fault.Fault {
	switch {
	case c.State == UserInitial:
		return usersfault.ErrUserNotInitialized
	case c.State != UserActive:
		return usersfault.ErrUserNotActive
	case c.OrgState != OrgActive:
		return usersfault.ErrOrgNotActive
	}
	return nil
}

// IsOf returns a fault unless the user is active and still has the generation of the check of the password.
func (u *User) IsOf(generation int64) error {
	if u.State != UserActive || u.Generation != generation {
		return usersfault.ErrLoginOver
	}
	return nil
}

// ReplaceRequired replaces the password of a login that asks for another one.
func (u *User) ReplaceRequired(generation int64, hash Hidden) (PasswordChange, error) {
	if err := u.IsOf(generation); err != nil {
		return PasswordChange{}, err
	}
	if !u.PasswordChangeRequired {
		return PasswordChange{}, usersfault.ErrLoginOver
	}
	return u.SetPassword(Password{Hash: hash})
}

// Stranger is a login name that nobody has, or a user without a code. All replicas together count the guesses at it,
// with the same bound as for a user, so that refusals do not show which users exist.
type Stranger struct {
	// Slot is the number of the stranger's row, one of 4,194,304. Several strangers share a slot.
	Slot int
	// Name is a keyed hash.
	Name []byte
}

// Stranger returns the stranger with a name of a kind, such as a folded login name.
func (l Lasting) Stranger(kind, name string) Stranger {
	mac := secret.MAC(l.stranger, kind, name)
	return Stranger{Slot: int(binary.BigEndian.Uint32(mac) >> 10), Name: mac[4:20]}
}
