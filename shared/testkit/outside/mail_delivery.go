package outside

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"strings"
)

// Delivery is a mail that the server accepted.
type Delivery struct {
	// From and To are those of the envelope (MAIL and RCPT).
	From string
	To   []string
	// Data is the mail as received, without the dots of RFC 5321, section 4.5.2.
	Data []byte
	// MessageID is the header Message-ID, with its angle brackets.
	MessageID string
	// Repeat is how many mails with the same MessageID were accepted before.
	Repeat int
	// TLS and User are those of the session. UTF8 is true if MAIL had the parameter SMTPUTF8.
	TLS  bool
	User string
	UTF8 bool
}

// Message is a parsed mail.
type Message struct {
	Header mail.Header
	// Subject is decoded, Text and HTML are the parts of multipart/alternative.
	Subject, Text, HTML string
}

func (s *MailServer) accept(d *Delivery) {
	if m, err := mail.ReadMessage(bytes.NewReader(d.Data)); err == nil {
		d.MessageID = m.Header.Get("Message-ID")
	}
	s.change(func() {
		for _, earlier := range s.deliveries {
			if earlier.MessageID == d.MessageID {
				d.Repeat++
			}
		}
		s.deliveries = append(s.deliveries, *d)
	})
}

// Parse parses a mail of a text part and an HTML part in quoted-printable.
func (d Delivery) Parse() (Message, error) {
	read, err := mail.ReadMessage(bytes.NewReader(d.Data))
	if err != nil {
		return Message{}, fmt.Errorf("read mail: %w", err)
	}
	m := Message{Header: read.Header}
	if m.Subject, err = new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject")); err != nil {
		return Message{}, fmt.Errorf("decode subject: %w", err)
	}
	_, parameters, err := mime.ParseMediaType(read.Header.Get("Content-Type"))
	if err != nil {
		return Message{}, fmt.Errorf("read content type: %w", err)
	}
	parts := multipart.NewReader(read.Body, parameters["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return Message{}, fmt.Errorf("read part: %w", err)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			return Message{}, fmt.Errorf("decode part: %w", err)
		}
		text := strings.ReplaceAll(string(body), "\r\n", "\n")
		switch kind := part.Header.Get("Content-Type"); kind {
		case "text/plain; charset=UTF-8":
			m.Text = text
		case "text/html; charset=UTF-8":
			m.HTML = text
		default:
			return Message{}, fmt.Errorf("unexpected part %q", kind)
		}
	}
}
