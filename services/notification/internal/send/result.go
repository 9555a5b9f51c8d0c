package send

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"syscall"
	"unicode"
)

// Outcome is what became of an attempt.
type Outcome int

// The outcomes of an attempt.
const (
	// Deferred: the mail is not accepted now and may be tried again.
	Deferred Outcome = iota
	// Sent: the relay answered the final dot with 2xx and has the mail.
	Sent
	// Rejected: the relay, or its address, refuses this mail for good.
	Rejected
	// Uncertain: the connection ended between the final dot and the reply.
	Uncertain
	// Aborted: commit refused, and the final dot was not sent.
	Aborted
)

func (o Outcome) String() string {
	return [...]string{"deferred", "sent", "rejected", "uncertain", "aborted"}[o]
}

// maxReply bounds Reply, in runes.
const maxReply = 500

// Result is an outcome and why.
type Result struct {
	Outcome Outcome
	// Reply is the relay's answer or a sentence of ours, one line of at most 500 runes.
	Reply string
	// Relay is set with Deferred when no mail can be sent at present: the relay is out of reach or
	// refuses us, so trying the next mail is pointless until that is mended.
	Relay bool
}

// failed makes the result of an error at a command of one mail, before the final dot.
func failed(command string, err error) Result {
	if reply, is := errors.AsType[*textproto.Error](err); is {
		return answered(reply)
	}
	return Result{Outcome: Deferred, Reply: oneLine(explain(command, err).Error())}
}

// answered makes the result of a refusal, and of a reply out of place.
func answered(reply *textproto.Error) Result {
	result := Result{Outcome: Deferred, Reply: oneLine(words(reply))}
	switch {
	case reply.Code == 530, reply.Code == 534, reply.Code == 535, reply.Code == 538:
		// Log in first, or encrypt (RFC 4954, section 6; RFC 3207, section 4): our settings' fault.
		result.Reply = oneLine(fmt.Sprintf("the mail relay wants us to log in or to encrypt (%s): check %s", words(reply), setting))
		result.Relay = true
	case reply.Code/100 == 5:
		result.Outcome = Rejected
	}
	return result
}

// explain says what went wrong without addresses and ports, for whoever may read a user's notifications.
func explain(command string, err error) error {
	var certificate *tls.CertificateVerificationError
	var network net.Error
	var operation *net.OpError
	switch reply, replied := errors.AsType[*textproto.Error](err); {
	case replied:
		err = errors.New(words(reply))
	case errors.As(err, &certificate):
		return fmt.Errorf("the mail relay's certificate is not to be trusted (%w): check %s", err, setting)
	case errors.As(err, &network) && network.Timeout():
		return errors.New("the mail relay did not answer in time at " + command)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe),
		errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return errors.New("the mail relay closed the connection at " + command)
	case errors.As(err, &operation):
		err = operation.Err
	}
	return fmt.Errorf("the mail relay failed at %s: %w", command, err)
}

// words is a reply as it was sent; its Error method quotes it.
func words(reply *textproto.Error) string {
	return fmt.Sprintf("%d %s", reply.Code, reply.Msg)
}

// oneLine removes control characters and what exceeds maxReply.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxReply {
		text = string(runes[:maxReply-1]) + "…"
	}
	return text
}
