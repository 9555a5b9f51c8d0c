// Package mailevent knows which events of users ask for a mail, and of which kind. Users reads
// with it which mails were asked for lately, and the notifier which to send: both see the same.
package mailevent

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailkind"
)

// Asked is called for an event that asks for a mail. The mail gets the event's id; its user
// is the event's aggregate.
type Asked func(ctx context.Context, d event.Delivery, kind mailkind.Kind) error

// Handlers call asked for the events that ask for a mail, and for no others.
func Handlers(asked Asked) []event.Handler {
	return []event.Handler{
		on(asked, func(e *usersv1.HumanCreated) string { return first(e.InitMail) }),
		on(asked, func(e *usersv1.HumanImported) string { return cmp.Or(first(e.InitMail), e.Mail) }),
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

// first returns the kind of the mail to a new user; empty if none is needed.
func first(m usersv1.InitMail) string {
	if m == usersv1.InitMail_INIT_MAIL_QUEUED {
		return string(mailkind.Init)
	}
	return ""
}
