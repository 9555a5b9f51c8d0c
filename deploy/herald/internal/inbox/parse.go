package inbox

import (
	"bufio"
	"bytes"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // decodes other character sets than UTF-8
	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-message/textproto"
)

// Bounds of the memory for a mail, because anybody may send one.
const (
	maxLine    = 998 // bytes of a header field's value (RFC 5322 section 2.1.1)
	maxSnippet = 250
	maxDepth   = 8   // of multiparts within multiparts
	maxParts   = 200 // of one multipart
)

// Address is a mailbox.
type Address struct{ Name, Address string }

// Summary is a mail in a list. Fields are named as Mailpit's; Repeats is ours.
type Summary struct {
	ID, MessageID        string
	Read                 bool
	From                 *Address
	To, Cc, Bcc, ReplyTo []Address
	Subject              string
	Created              time.Time
	Tags                 []string
	Size                 int // bytes
	Attachments          int
	Snippet              string
	// Repeats counts the mails with this Message-ID that came later and were dropped.
	Repeats int
}

// Mail is a mail with its contents.
type Mail struct {
	Summary
	ReturnPath  string
	Date        time.Time // zero if the mail has none
	Text, HTML  string
	Inline      []Part
	Attachments []Part
	header      map[string][]string
	raw         []byte
}

// Part is a part of a mail other than its text. Size is in bytes.
type Part struct {
	PartID, FileName, ContentType, ContentID string
	Size                                     int
}

// parse parses a stored mail. It never fails: bytes that are not a mail become its text.
func parse(raw []byte) Mail {
	m := Mail{raw: raw, Inline: []Part{}, Attachments: []Part{}, header: map[string][]string{}}
	m.Size, m.Tags = len(raw), []string{}
	body := bufio.NewReader(bytes.NewReader(raw))
	fields, err := textproto.ReadHeader(body)
	header := message.Header{Header: fields}
	m.readHeader(mail.Header{Header: header})
	if err != nil {
		m.Text = valid(string(raw))
	} else {
		entity, _ := message.New(header, body) // bytes in unknown encodings stay as they are
		m.readBody(entity, nil)
	}
	if m.Summary.Attachments = len(m.Attachments); m.Text != "" {
		m.Snippet = snippet(m.Text)
	} else {
		m.Snippet = snippet(textOf(m.HTML))
	}
	return m
}

// readHeader decodes the fields that people see (RFC 2047); other fields stay encoded.
func (m *Mail) readHeader(h mail.Header) {
	for fields := h.Fields(); fields.Next(); {
		m.header[fields.Key()] = append(m.header[fields.Key()], valid(fields.Value()))
	}
	if subject, err := h.Subject(); err == nil {
		m.Subject = clip(subject, maxLine)
	} else {
		m.Subject = clip(h.Get("Subject"), maxLine)
	}
	// A longer one violates RFC 5322, and if it were cut it could equal another mail's.
	if id := valid(strings.Trim(h.Get("Message-Id"), "<> \t")); len(id) <= maxLine {
		m.MessageID = id
	}
	if from := addresses(h, "From"); len(from) > 0 {
		m.From = &from[0]
	}
	m.To, m.Cc, m.Bcc, m.ReplyTo = addresses(h, "To"), addresses(h, "Cc"), addresses(h, "Bcc"), addresses(h, "Reply-To")
	m.ReturnPath = clip(strings.Trim(h.Get("Return-Path"), "<>"), maxLine)
	m.Date, _ = h.Date()
	m.addHidden(h.Values("Delivered-To"))
}

// addHidden adds the recipients that are not in the header.
func (m *Mail) addHidden(recipients []string) {
	shown := map[string]bool{}
	for _, list := range [][]Address{m.To, m.Cc, m.Bcc} {
		for _, a := range list {
			shown[strings.ToLower(a.Address)] = true
		}
	}
	for _, to := range recipients[:min(len(recipients), maxRecipients)] {
		if to = clip(to, maxLine); !shown[strings.ToLower(to)] {
			m.Bcc = append(m.Bcc, Address{Address: to})
		}
	}
}

// addresses parses a field with mailboxes. A malformed mailbox becomes a name without address.
func addresses(h mail.Header, key string) []Address {
	list, err := h.AddressList(key)
	found := make([]Address, 0, min(len(list), maxRecipients))
	if value := h.Get(key); err != nil && value != "" {
		return append(found, Address{Name: clip(value, maxLine)})
	}
	for _, a := range list[:min(len(list), maxRecipients)] {
		found = append(found, Address{Name: clip(a.Name, maxLine), Address: clip(a.Address, maxLine)})
	}
	return found
}

// readBody takes the first plain and the first HTML text and lists all other parts. path has the
// part's number at each level, which PartID joins.
func (m *Mail) readBody(e *message.Entity, path []byte) {
	if parts := e.MultipartReader(); parts != nil && len(path) < maxDepth {
		m.readParts(parts, path)
		return
	}
	kind := mediaType(e)
	disposition, parameters, _ := e.Header.ContentDisposition()
	content, _ := io.ReadAll(e.Body) // up to the first error
	isText := disposition != "attachment" && parameters["filename"] == ""
	switch {
	case isText && m.Text == "" && kind == "text/plain":
		m.Text = valid(string(content))
	case isText && m.HTML == "" && kind == "text/html":
		m.HTML = valid(string(content))
	default:
		m.addPart(e, path, len(content))
	}
}

// readParts reads the parts of a part up to the first that is malformed.
func (m *Mail) readParts(parts message.MultipartReader, path []byte) {
	for i := range maxParts {
		part, err := parts.NextPart()
		if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			return
		}
		m.readBody(part, append(path, byte(i+1)))
	}
}

// addPart adds a part: as inline if the HTML can refer to it (RFC 2392), else as an attachment.
func (m *Mail) addPart(e *message.Entity, path []byte, size int) {
	h := mail.AttachmentHeader{Header: e.Header}
	name, _ := h.Filename()
	part := Part{
		PartID: strings.ReplaceAll(strings.Trim(fmt.Sprint(path), "[]"), " ", "."), Size: size,
		FileName: clip(name, maxLine), ContentType: clip(mediaType(e), maxLine),
		ContentID: clip(strings.Trim(h.Get("Content-Id"), "<> "), maxLine),
	}
	if disposition, _, _ := h.ContentDisposition(); part.ContentID != "" && disposition != "attachment" {
		m.Inline = append(m.Inline, part)
	} else {
		m.Attachments = append(m.Attachments, part)
	}
}

// mediaType returns a part's type, also if its parameters are malformed.
func mediaType(e *message.Entity) string {
	kind, _, _ := e.Header.ContentType()
	kind, _, _ = strings.Cut(kind, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

var markup = regexp.MustCompile(`(?is)<(?:style|script|title)\b.*?</(?:style|script|title)>|<[^>]*>`)

// textOf returns about the text that a reader of HTML sees.
func textOf(markedUp string) string {
	return html.UnescapeString(markup.ReplaceAllString(markedUp, " "))
}

// snippet returns the beginning of a text as one line.
func snippet(text string) string { return clip(strings.Join(strings.Fields(text), " "), maxSnippet) }

// clip returns at most n bytes of text, as valid UTF-8.
func clip(text string, n int) string { return valid(text[:min(len(text), n)]) }

// valid removes bytes that are not UTF-8, such as those of an incomplete character.
func valid(text string) string { return strings.ToValidUTF8(text, "") }
