// Package smtp sends a mail to the mail server and returns the outcome.
//
// The same Mail gives the same bytes, so that a relay and a mailbox can recognize a repetition. The caller's commit
// runs when the mail server has the whole mail, before the final dot, with which the mail server becomes responsible
// for it (RFC 5321, section 4.2.5). In commit the caller records that the mail may be sent from now on. An attempt
// takes at most a minute.
package smtp

import (
	"context"
	"errors"
	"io"
	"net/textproto"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

// The times that an attempt may take; beforeDot and dotTime are a minute together.
const (
	dialTime  = 10 * time.Second
	beforeDot = 35 * time.Second
	// dotTime is long, because a relay may scan the mail before it answers, and without the answer
	// the outcome is uncertain.
	dotTime   = 25 * time.Second
	resetTime = 5 * time.Second
	quitTime  = 2 * time.Second
)

// Settings that operators must check, as errors say.
const (
	setting       = "HERALD_SMTP_URL or /admin/v1/smtp"
	senderSetting = "HERALD_MAIL_FROM or /admin/v1/smtp"
)

// Send sends m and calls commit once, just before the final dot. If commit fails, the dot is not sent and the mail
// server drops the mail. The end of ctx ends an attempt before the dot, but not the wait for the reply to the dot,
// without which the outcome is Uncertain.
func (r *Relay) Send(ctx context.Context, m Mail, commit func(context.Context) error) Result {
	mail, err := m.build()
	if err != nil {
		return Result{Outcome: Rejected, Reply: oneLine(err.Error()), Log: "an address or a header of the mail is none"}
	}
	caller := ctx
	ctx, cancel := context.WithTimeout(caller, beforeDot)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return said(Deferred, "no connection to the mail relay was free in time")
	}
	s, err := r.session(ctx)
	if err != nil {
		// The mail server does not know the mail yet, so what words returns of its reply may be logged.
		result := said(Deferred, err.Error()+": check "+setting)
		if f, is := errors.AsType[failure](err); is {
			result.Code = f.code
		}
		result.Relay = caller.Err() == nil
		return result
	}
	result := s.deliver(ctx, mail, commit)
	if result.Outcome == Sent {
		r.keep(s)
	} else {
		s.conn.Close()
	}
	return result
}

// Reach connects to the mail server and disconnects again. It returns an error if mails cannot be sent.
func (r *Relay) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	s, err := r.connect(ctx)
	if err == nil {
		s.quit()
	}
	return err
}

func (s *session) deliver(ctx context.Context, mail envelope, commit func(context.Context) error) Result {
	release := bind(ctx, s.conn)
	defer release()
	if offered, _ := s.client.Extension("SMTPUTF8"); mail.utf8 && !offered {
		return said(Rejected, "the mail relay takes no address outside ASCII (it does not offer SMTPUTF8)")
	}
	s.client.SkipSMTPUTF8(!mail.utf8)
	if err := s.client.Mail("<" + mail.from + ">"); err != nil {
		return mail.failed("MAIL", err)
	}
	if err := s.client.Rcpt("<" + mail.to + ">"); err != nil {
		return mail.failed("RCPT", err)
	}
	body, err := s.client.Data()
	if err != nil {
		return mail.failed("DATA", err)
	}
	if _, err := body.Write(mail.data); err != nil {
		return mail.failed("the mail", err)
	}
	if err := s.client.Text.W.Flush(); err != nil {
		return mail.failed("the mail", err)
	}
	if err := commit(ctx); err != nil {
		return said(Aborted, err.Error())
	}
	if !release() {
		return said(Deferred, "the attempt ran out of time before the final dot")
	}
	if err := s.dialogue.check(); err != nil {
		return mail.failed("the final dot", err)
	}
	return s.finish(body, mail.private)
}

// finish sends the final dot and returns the outcome.
func (s *session) finish(body io.WriteCloser, p private) Result {
	if err := s.conn.SetDeadline(time.Now().Add(dotTime)); err != nil {
		return p.broken(Deferred, "the final dot", err)
	}
	err := body.Close()
	reply, replied := errors.AsType[*textproto.Error](err)
	switch {
	case errors.Is(err, errUnasked): // the dot was not sent
		return p.broken(Deferred, "the final dot", err)
	case err == nil:
		reply := &textproto.Error{Code: 250, Msg: body.(*smtp.DataCloser).ServerResponse()}
		return Result{Outcome: Sent, Reply: p.words(reply), Code: reply.Code, Answered: true}
	case replied && reply.Code/100 == 2:
		return Result{Outcome: Sent, Reply: p.words(reply), Code: reply.Code, Answered: true}
	case replied && (reply.Code/100 == 4 || reply.Code/100 == 5):
		result := p.answered("the final dot", reply)
		result.Answered = true
		return result
	}
	return p.broken(Uncertain, "the final dot", err)
}
