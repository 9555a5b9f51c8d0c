// Package domain holds the rules of message texts: the kinds of messages, their default texts in
// every language, and how an organization's own texts replace default ones part by part. It
// reads no database and no clock.
package domain

import (
	"cmp"
	"strings"

	"herald/shared/gen/fault/textfault"
	"herald/shared/mail"
	"herald/shared/resource"
)

// CheckKind returns ErrMessageKindNotFound for a message that the system does not send.
func CheckKind(kind string) error {
	if _, err := mail.ParseKind(kind); err != nil {
		return textfault.ErrMessageKindNotFound
	}
	return nil
}

// Texts are the parts of a message in one language, as plain text that may have placeholders such as {{.FirstName}}.
type Texts struct {
	Title      string `json:"title"`
	PreHeader  string `json:"preHeader"`
	Subject    string `json:"subject"`
	Greeting   string `json:"greeting"`
	Text       string `json:"text"`
	ButtonText string `json:"buttonText"`
	FooterText string `json:"footerText"`
}

// Or returns the texts, with default texts in place of empty ones.
func (t Texts) Or(d Texts) Texts {
	footer := cmp.Or(t.FooterText, d.FooterText)
	if strings.TrimSpace(footer) == "" {
		footer = "" // the message has none
	}
	return Texts{
		Title:      cmp.Or(t.Title, d.Title),
		PreHeader:  cmp.Or(t.PreHeader, d.PreHeader),
		Subject:    cmp.Or(t.Subject, d.Subject),
		Greeting:   cmp.Or(t.Greeting, d.Greeting),
		Text:       cmp.Or(t.Text, d.Text),
		ButtonText: cmp.Or(t.ButtonText, d.ButtonText),
		FooterText: footer,
	}
}

// Custom is an organization's own texts of a message in one language. Parts that it did not write
// are empty. If it wrote none, the sequence is 0 and the times are those of the first start.
type Custom struct {
	resource.Record
	Texts
}

// IsDefault reports whether no part is the organization's own.
func (c Custom) IsDefault() bool { return c.Texts == Texts{} }

// Sendable returns the texts if they keep today's rules. A text that an earlier version accepted may not: then it
// returns no texts, so that the default ones are sent, and the error.
func (c Custom) Sendable(kind mail.Kind) (Texts, error) {
	if c.IsDefault() {
		return Texts{}, nil
	}
	return c.Accept(kind)
}

// Write replaces the organization's own texts and returns the names of the changed parts.
func (c *Custom) Write(t Texts) (changed []string) {
	was, is := c.Texts.parts(), t.parts()
	for i := range was {
		if *was[i].text != *is[i].text {
			changed = append(changed, was[i].name)
		}
	}
	c.Texts = t
	return changed
}

// Reset removes the organization's own texts. It returns ErrCustomTextNotFound if there are none.
func (c *Custom) Reset() error {
	if c.IsDefault() {
		return textfault.ErrCustomTextNotFound
	}
	c.Texts = Texts{}
	return nil
}
