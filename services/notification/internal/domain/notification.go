// Package domain says what a notification is, and what becomes of it after each try
// to send it.
package domain

import (
	"errors"
	"time"

	"herald/shared/fault"
	"herald/shared/mailkind"
)

// ErrLost says that the lease of a mail ran out and another notifier has it.
var ErrLost = errors.New("another notifier has this mail")

// Faults of requests for mails.
var (
	ErrNotFound = fault.New(fault.NotFound, "NOTIFICATION_NOT_FOUND", "Notification not found")
	ErrTest     = fault.New(fault.Precondition, "TEST_MAIL_SENT_ONCE",
		"A test mail is sent once; POST /admin/v1/mail/_test sends another one")
	ErrRecipient = fault.New(fault.Invalid, "RECIPIENT_INVALID", "recipient: one address such as mini@example.com, "+
		"at most 254 characters").On("recipient", "is not an e-mail address")
	ErrNoRecipient = fault.New(fault.Precondition, "RECIPIENT_MISSING", "The caller has no e-mail address: name one "+
		"in recipient").On("recipient", "is missing")
)

// Test is the kind of the one mail that no user asks for: it shows whether mails can be
// sent. It is tried once, and asks users for nothing.
const Test mailkind.Kind = "test"

// State is where a notification, or an attempt to deliver it, stands.
type State int16

// The states, numbered as in their contract.
const (
	Queued State = iota + 1
	Sending
	Sent
	// Retrying waits for the next attempt.
	Retrying
	Failed
	// Uncertain may have been delivered: the mail server never answered.
	Uncertain
)

// Waits reports whether the mail is still to be sent, and not under way.
func (s State) Waits() bool { return s == Queued || s == Retrying }

// GivenUp reports whether the mail ended and is not known to be delivered.
func (s State) GivenUp() bool { return s == Failed || s == Uncertain }

// Notification is a mail that an event or an administrator asked for, and what became of it.
type Notification struct {
	// ID is the event's, if there was one.
	ID        string
	OrgID     string
	UserID    string
	Kind      mailkind.Kind
	State     State
	CreatedAt time.Time
	// Language and Recipient are known once the mail was prepared.
	Language  string
	Recipient string
}

// Attempt is one delivery to the mail server, or what kept the mail from getting there.
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
