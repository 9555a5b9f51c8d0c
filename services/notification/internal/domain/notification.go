// Package domain says what a notification is, and what becomes of it after each try
// to send it.
package domain

import (
	"errors"
	"time"
)

// ErrLost says that the lease of a mail ran out and another notifier has it.
var ErrLost = errors.New("another notifier has this mail")

// Init is the kind of the initialize-user mail.
const Init = "init"

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

// Notification is a mail that an event asked for, and what became of it.
type Notification struct {
	// ID is the event's.
	ID        string
	OrgID     string
	UserID    string
	Kind      string
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
