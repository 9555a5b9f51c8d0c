package mailer

import (
	"cmp"
	"context"
	"strings"

	"google.golang.org/protobuf/proto"

	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
)

// Asked is called for an event that requests a mail. The id of the delivery is the id for the mail. It is the event's
// id, or for a notice its NoticeID. The mail goes to the user whose id is the delivery's aggregate.
type Asked func(ctx context.Context, d event.Delivery, kind mail.Kind) error

// Handlers returns handlers that call asked for each event that requests a mail.
func Handlers(asked Asked) []event.Handler {
	return []event.Handler{
		on(asked, func(e *usersv1.HumanCreated) string { return first(e.InitMail) }),
		on(asked, func(e *usersv1.HumanImported) string { return cmp.Or(first(e.InitMail), e.Mail) }),
		on(asked, func(e *usersv1.HumanInitializationRequested) string { return first(e.InitMail) }),
		on(asked, (*usersv1.HumanEmailChanged).GetMail, (*usersv1.HumanEmailChanged).GetNotice),
		on(asked, (*usersv1.HumanEmailVerificationRequested).GetMail),
		on(asked, nil, (*usersv1.HumanEmailVerified).GetNotice),
		on(asked, (*usersv1.HumanPasswordResetRequested).GetMail),
		on(asked, (*usersv1.UserReactivated).GetMail),
		on(asked, (*usersv1.UserUnlocked).GetMail),
		on(asked, nil, (*usersv1.HumanPasswordChanged).GetNotice),
		on(asked, nil, (*usersv1.OtpVerified).GetNotice),
		on(asked, nil, (*usersv1.OtpRemoved).GetNotice),
		on(asked, nil, (*usersv1.OtpAccepted).GetNotice),
		on(asked, nil, (*usersv1.IdpLinkAdded).GetNotice),
		on(asked, nil, (*usersv1.HumanExpirationNoticeRequested).GetNotice),
		event.On(func(ctx context.Context, d event.Delivery, e *usersv1.PersonalAccessTokenAdded) error {
			d.ID, d.AggregateID = NoticeID(d.ID), e.UserId // the aggregate is the token
			return ask(ctx, asked, d, e.Notice)
		}),
	}
}

// OfNotice is the suffix of the ids of notices. It is needed because an event may request a notice and another mail.
const OfNotice = "-notice"

// NoticeID returns the id of the notice that an event requests.
func NoticeID(eventID string) string { return eventID + OfNotice }

// IsNotice reports whether an id was returned by NoticeID.
func IsNotice(id string) bool { return strings.HasSuffix(id, OfNotice) }

// on returns a handler for events whose fields name the kinds of the requested mails. The mail gets the event's id,
// and notices get its NoticeID.
func on[E any, P interface {
	*E
	proto.Message
}](asked Asked, mail func(P) string, notices ...func(P) string) event.Handler {
	return event.On(func(ctx context.Context, d event.Delivery, e P) error {
		if mail != nil {
			if err := ask(ctx, asked, d, mail(e)); err != nil {
				return err
			}
		}
		d.ID = NoticeID(d.ID)
		for _, notice := range notices {
			if err := ask(ctx, asked, d, notice(e)); err != nil {
				return err
			}
		}
		return nil
	})
}

func ask(ctx context.Context, asked Asked, d event.Delivery, name string) error {
	if name == "" {
		return nil
	}
	kind, err := mail.ParseKind(name)
	if err != nil {
		return err
	}
	return asked(ctx, d, kind)
}

// first returns the kind of the first mail to a new user. It is empty if no mail is needed.
func first(m usersv1.InitMail) string {
	if m == usersv1.InitMail_INIT_MAIL_QUEUED {
		return string(mail.Init)
	}
	return ""
}
