package smtp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	gomail "github.com/wneessen/go-mail"

	"herald/shared/mail"
)

// Mail is one mail to one recipient. Two equal Mails are sent as the same bytes.
type Mail struct {
	// MessageID has no angle brackets: "0193…@id.example.com".
	MessageID string
	// From and ReplyTo are "name@example.com" or "Display name <name@example.com>". To is an
	// address without a name. ReplyTo may be empty.
	From, ReplyTo, To string
	// Subject is one line. Text and HTML are the two parts, in UTF-8.
	Subject, Text, HTML string
	// Language is the BCP 47 tag of the parts.
	Language string
	// Date is the header Date, to the second.
	Date time.Time
	// Code is the code in the parts, empty for a mail without one. No Result contains it.
	Code string
	// Seed is a text from which the MIME boundary is made, such as the notification's id.
	Seed string
}

// envelope is the addresses of a mail for SMTP, and the mail itself.
type envelope struct {
	private
	from string
	utf8 bool // an address has characters outside ASCII, which need SMTPUTF8 (RFC 6531)
	data []byte
}

// build makes the envelope. It checks every field that becomes a header, so that none can contain
// a second header.
func (m Mail) build() (envelope, error) {
	from, err := ParseMailbox(m.From)
	if err != nil {
		return envelope{}, fmt.Errorf("sender: %w", err)
	}
	to, err := mail.ParseAddress(m.To)
	if err != nil {
		return envelope{}, fmt.Errorf("recipient: %w", err)
	}
	if err := m.check(); err != nil {
		return envelope{}, err
	}
	msg := gomail.NewMsg(gomail.WithBoundary(m.boundary()), gomail.WithNoDefaultUserAgent())
	msg.SetAddrHeaderFromMailAddress(gomail.HeaderFrom, from)
	msg.SetAddrHeaderFromMailAddress(gomail.HeaderTo, &netmail.Address{Address: to})
	foreign := from.Address + to
	if m.ReplyTo != "" {
		replyTo, err := ParseMailbox(m.ReplyTo)
		if err != nil {
			return envelope{}, fmt.Errorf("reply address: %w", err)
		}
		msg.SetAddrHeaderFromMailAddress(gomail.HeaderReplyTo, replyTo)
		foreign += replyTo.Address
	}
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetDateWithValue(m.Date.UTC())
	msg.SetGenHeader(gomail.HeaderSubject, encodeSubject(m.Subject))
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834, section 5
	msg.SetGenHeader(gomail.HeaderContentLang, m.Language)
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	var data bytes.Buffer
	if _, err := msg.WriteTo(&data); err != nil {
		return envelope{}, fmt.Errorf("build mail: %w", err)
	}
	return envelope{
		private: private{m.Code, to}, from: from.Address, utf8: !isASCII(foreign), data: data.Bytes(),
	}, nil
}

func (m Mail) check() error {
	id := func(r rune) bool { return r <= ' ' || r > '~' || r == '<' || r == '>' }
	switch {
	case m.MessageID == "" || len(m.MessageID) > 250 || strings.ContainsFunc(m.MessageID, id) ||
		strings.Count(m.MessageID, "@") != 1:
		return errors.New("the Message-ID is not of the form id@domain")
	case m.Date.IsZero():
		return errors.New("the mail has no date")
	case !utf8.ValidString(m.Subject) || strings.ContainsFunc(m.Subject, unicode.IsControl):
		return errors.New("the subject is not one line of text")
	case strings.Trim(m.Language, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return errors.New("the language is not a BCP 47 tag")
	}
	return nil
}

// boundary returns a boundary that depends on the parts too, so that no text can contain the
// boundary of its own mail.
func (m Mail) boundary() string {
	h := sha256.New()
	for _, part := range []string{m.Seed, m.Text, m.HTML} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:20])
}

const (
	// maxWord is the longest word with which a folded line has at most 78 characters (RFC 5322,
	// section 2.1.1).
	maxWord = 60
	// encodedBytes make an encoded word of 60 characters, which fits into the line of the
	// header's name. If that line were empty, the subject would begin with a space.
	encodedBytes = 36
)

// encodeSubject returns a subject as encoded words (RFC 2047) if it needs them. go-mail does not
// encode ASCII. But a mail client would decode a text that looks like an encoded word, and a very
// long word cannot be folded.
func encodeSubject(subject string) string {
	plain := isASCII(subject) && !strings.Contains(subject, "=?") && !strings.Contains(subject, "  ") &&
		strings.TrimSpace(subject) == subject
	for word := range strings.SplitSeq(subject, " ") {
		plain = plain && len(word) <= maxWord
	}
	if plain {
		return subject
	}
	var words []string
	for subject != "" {
		end := min(encodedBytes, len(subject))
		for end < len(subject) && !utf8.RuneStart(subject[end]) {
			end--
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(subject[:end]))+"?=")
		subject = subject[end:]
	}
	return strings.Join(words, " ")
}
