// Package domain holds the rules of notifications: their states, and how each try to send one
// changes its state.
package domain

import (
	"errors"
	"time"

	"herald/shared/mail"
)

// ErrLost is returned when the lease of a mail has run out and another notifier has the mail.
var ErrLost = errors.New("another notifier has this mail")

// Test is the kind of mail that an administrator sends to find out whether mails can be sent. It is
// tried once and needs nothing from users.
const Test mail.Kind = "test"

// MostTests is how many test mails a user may send within TestsTime. Their recipients are any addresses.
const (
	MostTests = 20
	TestsTime = 10 * time.Minute
)

// State is the state of a notification or of an attempt to deliver it.
type State int16

// The states, numbered as in their contract.
const (
	Queued State = iota + 1
	Sending
	Sent
	// Retrying waits for the next attempt.
	Retrying
	Failed
	// Uncertain may have been delivered, as the mail server did not answer.
	Uncertain
)

// Waits reports whether the mail is to be sent and is not being sent now.
func (s State) Waits() bool { return s == Queued || s == Retrying }

// GivenUp reports whether the mail ended and is not known to be delivered.
func (s State) GivenUp() bool { return s == Failed || s == Uncertain }

// Notification is a mail that an event or an administrator asked for, with its state.
type Notification struct {
	// ID is the id of the event, if there was one.
	ID        string
	OrgID     string
	UserID    string
	Kind      mail.Kind
	State     State
	CreatedAt time.Time
	// Language and Recipient are empty before the first try.
	Language  string
	Recipient string
}

// Attempt is one delivery to the mail server, or the error that prevented it.
type Attempt struct {
	Time  time.Time `json:"time"`
	State State     `json:"state"`
	Reply string    `json:"reply"`
}

// Listed is a notification with its attempts, oldest first.
type Listed struct {
	Notification
	Attempts []Attempt
}
