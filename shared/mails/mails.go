// Package mails says which events of users ask for a mail, and for which. Users tells by
// it what was asked for lately, and the notifier hears by it of each: what one of them
// takes for a mail is one for the other.
package mails

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailkind"
)

// Asked hears that an event asked for a mail of a kind, such as init. The mail has the
// event's id, its user is the aggregate.
type Asked func(ctx context.Context, d event.Delivery, kind mailkind.Kind) error

// Handlers pass on to asked the events that ask for a mail, and no others.
func Handlers(asked Asked) []event.Handler {
	return []event.Handler{
		on(asked, func(e *usersv1.HumanCreated) string { return first(e.InitMail) }),
		on(asked, func(e *usersv1.HumanImported) string { return first(e.InitMail) }),
		on(asked, func(e *usersv1.HumanInitializationRequested) string { return first(e.InitMail) }),
		on(asked, (*usersv1.HumanEmailChanged).GetMail),
		on(asked, (*usersv1.HumanEmailVerificationRequested).GetMail),
		on(asked, (*usersv1.HumanPasswordResetRequested).GetMail),
	}
}

func on[E any, P interface {
	*E
	proto.Message
}](asked Asked, kind func(P) string) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, e P) error {
		name := kind(e)
		if name == "" {
			return nil
		}
		known, err := mailkind.Parse(name)
		if err != nil {
			return err
		}
		return asked(ctx, d, known)
	})
}

// first is the kind of the mail to a new user; empty where none is needed.
func first(m usersv1.InitMail) string {
	if m == usersv1.InitMail_INIT_MAIL_QUEUED {
		return string(mailkind.Init)
	}
	return ""
}
