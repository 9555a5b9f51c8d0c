package smtp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Outcome is how an attempt ended.
type Outcome int

// The outcomes of an attempt.
const (
	// Deferred: the mail server does not accept the mail now; it may be tried again.
	Deferred Outcome = iota
	// Sent: the mail server answered the final dot with 2xx and has the mail.
	Sent
	// Rejected: the mail server refuses this mail for good, or its address is not valid.
	Rejected
	// Uncertain: the connection ended between the final dot and the reply.
	Uncertain
	// Aborted: commit failed, so the final dot was not sent.
	Aborted
)

// String returns the outcome in one word.
func (o Outcome) String() string {
	return [...]string{"deferred", "sent", "rejected", "uncertain", "aborted"}[o]
}

const (
	// maxReply bounds Reply, maxWords the mail server's words in it, both in runes.
	maxReply = 500
	maxWords = 350
)

// Result is an outcome with its reason.
type Result struct {
	Outcome Outcome
	// Reply is the mail server's reply, without what it may quote of the mail, or a sentence of ours. It is one line of
	// at most 500 runes.
	Reply string
	// Log is Reply for a log, without the mail server's words after it knows the recipient, because they may name the
	// recipient.
	Log string
	// Code is the mail server's last reply code (RFC 5321, section 4.2), 0 without one.
	Code int
	// Relay is set with Deferred if no mail at all can be sent at present: the mail server cannot be reached or refuses
	// us.
	Relay bool
	// Answered is set if the mail server answered the final dot, whatever it said.
	Answered bool
}

// said returns a result with a sentence of ours, which may be logged.
func said(outcome Outcome, words string) Result {
	return Result{Outcome: outcome, Reply: oneLine(words), Log: oneLine(words)}
}

// failed returns the result of an error at a command of one mail, before the final dot.
func (p private) failed(command string, err error) Result {
	if reply, is := errors.AsType[*textproto.Error](err); is {
		return p.answered(command, reply)
	}
	return p.broken(Deferred, command, err)
}

// broken returns the result of a connection that ended, or on which the mail server sent something that is not a reply.
func (p private) broken(outcome Outcome, command string, err error) Result {
	f := p.explain(command, err)
	return Result{Outcome: outcome, Reply: oneLine(f.words), Log: f.log, Code: f.code}
}

// answered returns the result of a refusal or of an unexpected reply.
func (p private) answered(command string, reply *textproto.Error) Result {
	result := Result{
		Outcome: Deferred, Reply: p.words(reply), Log: fmt.Sprintf("the mail relay answered %d at %s", reply.Code,
			command), Code: reply.Code,
	}
	because := func(why string) {
		f := p.refusal(why, reply)
		result.Reply, result.Log = f.words, f.log
	}
	switch {
	case reply.Code == 530, reply.Code == 534, reply.Code == 535, reply.Code == 538:
		// The mail server requires a login or encryption (RFC 4954, section 6; RFC 3207, section 4), so our settings
		// are wrong.
		because("the mail relay wants us to log in or to encrypt (%s): check " + setting)
		result.Relay = true
		return result
	case reply.Code/100 != 5:
		return result
	case command == "MAIL":
		because("the mail relay refused the sender (%s): check " + senderSetting)
	case command == "RCPT":
		because("the mail relay refused the recipient (%s)")
	}
	result.Outcome = Rejected
	return result
}

// failure is an error whose words do not name our addresses and ports, because the readers of a
// user's notifications see them.
type failure struct {
	words string
	// log is words without those of the mail server.
	log  string
	code int
}

func (f failure) Error() string { return f.words }

// refusal returns an error with the words why, in which %s stands for the mail server's words.
func (p private) refusal(why string, reply *textproto.Error) failure {
	return failure{fmt.Sprintf(why, p.words(reply)), fmt.Sprintf(why, strconv.Itoa(reply.Code)), reply.Code}
}

// explain returns words for an error at a command.
func (p private) explain(command string, err error) failure {
	var certificate *tls.CertificateVerificationError
	var network net.Error
	var lookup *net.DNSError
	var operation *net.OpError
	var strange textproto.ProtocolError
	ours := func(words string) failure { return failure{words: words, log: words} }
	switch reply, replied := errors.AsType[*textproto.Error](err); {
	case replied:
		return p.refusal("the mail relay failed at "+command+" (%s)", reply)
	case errors.Is(err, errUnasked):
		return ours("the mail relay answered before it was asked at " + command)
	case errors.As(err, &certificate):
		return ours("the mail relay's certificate is not to be trusted (" + err.Error() + ")")
	case errors.As(err, &network) && network.Timeout():
		return ours("the mail relay did not answer in time at " + command)
	case errors.As(err, &lookup):
		return ours("the mail relay's name is not known")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return ours("the mail relay closed the connection at " + command)
	case errors.As(err, &strange): // its words are the line of the mail server
		return ours("the mail relay did not answer in SMTP at " + command)
	case errors.As(err, &operation):
		return ours("the mail relay failed at " + command + ": " + operation.Err.Error())
	}
	why := "the mail relay failed at " + command
	return failure{words: why + ": " + p.clean(err.Error()), log: why}
}

// oneLine removes control characters and all that is longer than maxReply.
func oneLine(text string) string { return shortened(text, maxReply) }

func shortened(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return text
}
