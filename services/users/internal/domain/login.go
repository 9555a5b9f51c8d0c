package domain

import (
	"hash/maphash"
	"sync"
	"time"

	"herald/shared/fault"
)

// Faults of logins.
var (
	// ErrLoginWrong is also returned for a name that nobody has.
	ErrLoginWrong = fault.New(fault.Invalid, "LOGIN_WRONG", "The login name or the password is wrong")
	ErrLoginOver  = fault.New(fault.Precondition, "LOGIN_OVER", "The user has changed since; log in from the beginning")
)

// CredentialPassword is the credential of logins with a password.
const CredentialPassword = "password"

// Candidate is who may have a login name, before the password is checked.
type Candidate struct {
	User
	OrgState      OrgState
	OrgGeneration int64
	// OTPReady reports whether the login needs a code too.
	OTPReady bool
}

// IsOf returns a fault unless the user is as at the check of the password, and may log in.
func (u *User) IsOf(generation int64) error {
	if u.State != UserActive || u.Generation != generation {
		return ErrLoginOver
	}
	return nil
}

// ReplaceRequired replaces the password of a login that asks for another one.
func (u *User) ReplaceRequired(generation int64, hash Hidden) (PasswordChange, error) {
	if err := u.IsOf(generation); err != nil {
		return PasswordChange{}, err
	}
	if !u.PasswordChangeRequired {
		return PasswordChange{}, ErrLoginOver
	}
	return u.SetPassword(Password{Hash: hash})
}

// tries are wrong passwords for a name, until the last one.
type tries struct {
	n     int
	since time.Time
}

// pause returns how long guesses are refused after the last one.
func (t tries) pause() time.Duration {
	if t.n < PasswordTries {
		return 0
	}
	pauses := PasswordPauses()
	return pauses[min(t.n-PasswordTries, len(pauses)-1)]
}

func (t tries) forgotten(now time.Time) bool {
	memory := PasswordQuiet
	if t.n >= PasswordTries {
		memory = PasswordMemory
	}
	return now.Sub(t.since) >= memory
}

// maxStrangers bounds the memory of each of the two maps of Strangers.
const maxStrangers = 1 << 16

// Strangers counts guesses at login names that nobody has. It counts in memory, so that they cost no row, and refuses
// as many as those for a user.
type Strangers struct {
	now  func() time.Time
	seed maphash.Seed

	mu sync.Mutex
	// When recent is full it becomes older, and what was in older is forgotten.
	recent, older map[uint64]tries
}

// NewStrangers returns Strangers without guesses.
func NewStrangers(now func() time.Time) *Strangers {
	return &Strangers{now: now, seed: maphash.MakeSeed(), recent: map[uint64]tries{}}
}

// Try counts a guess. It returns zero if the guess is allowed, else how long guesses are refused.
func (s *Strangers) Try(name string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, now := maphash.String(s.seed, name), s.now()
	t, found := s.recent[key]
	if !found {
		t = s.older[key]
	}
	if t.forgotten(now) {
		t.n = 0
	}
	if wait := t.since.Add(t.pause()).Sub(now); t.n >= PasswordTries && wait > 0 {
		return max(wait, time.Second)
	}
	if len(s.recent) >= maxStrangers {
		s.recent, s.older = map[uint64]tries{}, s.recent
	}
	s.recent[key] = tries{t.n + 1, now}
	return 0
}

// Untry takes back a guess that was not checked.
func (s *Strangers) Untry(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := maphash.String(s.seed, name)
	if t := s.recent[key]; t.n > 0 {
		t.n--
		t.since = t.since.Add(-t.pause())
		s.recent[key] = t
	}
}
