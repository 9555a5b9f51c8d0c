package delivery

import (
	"context"
	"fmt"
	"runtime/debug"

	"google.golang.org/protobuf/proto"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/smtp"
	"herald/services/notification/internal/store"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/outbound"
	"herald/shared/rpc"
)

// unwanted is the outcome of a mail that users reports as obsolete. unmade is the reply for a mail that cannot be made
// from the answers of users and text.
const (
	unwanted = "obsolete"
	unmade   = "the mail could not be prepared"
)

// way is what a try has shown about the way to the mail server: whether mails can be sent at present.
type way int

const (
	unknown    way = iota
	taken          // the mail server accepted or refused the mail itself
	answered       // the mail server answered the final dot
	blocked        // no mail can be sent at present
	unanswered     // the mail server did not answer the final dot
)

// result is how a try ended.
type result struct {
	hold    store.Hold
	verdict domain.Verdict
	outcome string
	// why is the verdict's reply without words that a log must not contain.
	why string
	way way
	// took is set if the mail server accepted the mail or refused it for good, postponed if it refused it for now.
	took, postponed bool
	// theirs is set if another notifier has the mail or may claim it. Then nothing is recorded.
	theirs bool
	// doubts is a copy of held.doubts of this mail.
	doubts int
}

// send sends the mail of a claim and records the outcome. When ctx ends the mail is given back.
func (s *Sender) send(ctx context.Context, c domain.Claim, by *Route) result {
	ctx = rpc.WithRequestID(ctx, c.ID)
	r := s.try(ctx, &c, by)
	r.hold = store.Hold{ID: c.ID, Fence: c.Fence}
	r.verdict.Pause = s.Times.Spread(r.verdict.Pause)
	s.Mails.WithLabelValues(r.outcome).Inc()
	if !r.theirs {
		s.settle(ctx, c, r)
	}
	return r
}

// try sends one mail. A panic becomes its result, so that other mails are still sent.
func (s *Sender) try(ctx context.Context, c *domain.Claim, by *Route) (r result) {
	defer func() {
		if p := recover(); p != nil {
			r = s.unprepared(ctx, c, fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	if c.Hopeless() {
		return result{
			verdict: c.Ended(), outcome: smtp.Uncertain.String(),
			why: "its notifier ended before the mail relay answered",
		}
	}
	mail, err := s.prepare(ctx, c, by)
	if err != nil {
		return s.unprepared(ctx, c, err)
	}
	relayed := ctx
	if c.Kind == domain.Test {
		var cancel context.CancelFunc
		relayed, cancel = context.WithTimeout(ctx, s.Times.TestMail)
		defer cancel()
	}
	r = s.judge(ctx, c, by.send(relayed, mail, func(ctx context.Context) error {
		return s.Store.BeginSending(ctx, *c, s.Now(), s.Times.Lease)
	}))
	if relayed.Err() != nil {
		r.way = unknown
	}
	return r
}

// unprepared returns the result of a mail that could not be made.
func (s *Sender) unprepared(ctx context.Context, c *domain.Claim, err error) (r result) {
	r.outcome = "unprepared"
	switch f := fault.From(err); {
	case f.ID == usersfault.ErrNotificationObsolete.ID:
		r.outcome, r.verdict = unwanted, c.Refused()
		r.verdict.Reply = "no longer wanted: its code was used or replaced, or what it announces has changed"
	case ctx.Err() != nil:
		r.verdict = c.Released()
	case f.Code == fault.Unavailable, f.Code == fault.Exhausted:
		r.verdict, r.way = c.Unasked(s.Now()), blocked
		r.why = outbound.Said(err.Error())
	case f.Code == fault.Deadline: // another mail may be faster, so this does not close the gate
		r.verdict = c.Unasked(s.Now())
	default:
		s.Log.ErrorContext(ctx, "mail cannot be prepared", "notification", c.ID, "err", err)
		r.verdict = c.Deferred(s.Now(), false)
		r.verdict.Reply, r.why = unmade, unmade
	}
	return r
}

// judge returns the result of a mail that was sent to the mail server.
func (s *Sender) judge(ctx context.Context, c *domain.Claim, sent smtp.Result) result {
	r := result{outcome: sent.Outcome.String(), why: outbound.Said(sent.Log), way: taken}
	if sent.Answered {
		r.way = answered
	}
	switch sent.Outcome {
	case smtp.Sent:
		r.verdict, r.took = c.Delivered(), true
	case smtp.Rejected:
		r.verdict, r.took = c.Refused(), sent.Code > 0
		if !sent.Answered { // perhaps our own check refused it, for example because its address is not valid
			r.way = unknown
		}
	case smtp.Uncertain:
		r.verdict, r.way = c.NotAnswered(s.Now()), unanswered
	case smtp.Aborted: // BeginSending failed, but may have stored its change: wait for the lease to run out
		r.theirs = true
	case smtp.Deferred:
		r.verdict = c.Deferred(s.Now(), sent.Relay)
		switch {
		case ctx.Err() != nil:
			r.verdict, r.way = c.Released(), unknown
		case sent.Relay:
			r.way = blocked
		default:
			r.postponed = true
		}
	}
	r.verdict.Reply, r.verdict.Code = sent.Reply, sent.Code
	return r
}

// givenUp returns the event of a mail that is given up, or nil for other mails and for obsolete ones. It returns nil
// too for a mail that an older release recorded without organization, because such an event is refused.
func (r result) givenUp(c domain.Claim) proto.Message {
	if r.theirs || r.outcome == unwanted || !r.verdict.State.GivenUp() || c.OrgID == "" {
		return nil
	}
	return &notificationv1.MailFailed{
		UserId: c.UserID, Kind: string(c.Kind), State: notificationv1.NotificationState(r.verdict.State),
		ReplyCode: int32(r.verdict.Code),
	}
}
