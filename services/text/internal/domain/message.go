// Package domain is what is true about message texts: which messages there are, what
// they say by default in every language, and how an organization's own words stand in
// for the default ones, field by field. It reads no database and no clock.
package domain

import (
	"cmp"

	"herald/shared/fault"
	"herald/shared/mailkind"
	"herald/shared/resource"
)

// Faults of messages.
var (
	// ErrKind is returned for a message that the system does not send.
	ErrKind           = fault.New(fault.NotFound, "MESSAGE_KIND_NOT_FOUND", "There is no message of this kind")
	ErrCustomNotFound = fault.New(fault.NotFound, "CUSTOM_TEXT_NOT_FOUND",
		"The organization has no text of its own for this message in this language")
)

// CheckKind returns ErrKind for a message that the system does not send.
func CheckKind(kind string) error {
	if _, err := mailkind.Parse(kind); err != nil {
		return ErrKind
	}
	return nil
}

// Texts are the parts of a message in one language, as plain text in which
// placeholders such as {{.FirstName}} may stand (specification 2.4).
type Texts struct {
	Title      string `json:"title"`
	PreHeader  string `json:"preHeader"`
	Subject    string `json:"subject"`
	Greeting   string `json:"greeting"`
	Text       string `json:"text"`
	ButtonText string `json:"buttonText"`
	FooterText string `json:"footerText"`
}

// Or returns the texts, and with those of the default where one is empty.
func (t Texts) Or(d Texts) Texts {
	return Texts{
		Title:      cmp.Or(t.Title, d.Title),
		PreHeader:  cmp.Or(t.PreHeader, d.PreHeader),
		Subject:    cmp.Or(t.Subject, d.Subject),
		Greeting:   cmp.Or(t.Greeting, d.Greeting),
		Text:       cmp.Or(t.Text, d.Text),
		ButtonText: cmp.Or(t.ButtonText, d.ButtonText),
		FooterText: cmp.Or(t.FooterText, d.FooterText),
	}
}

// Custom is an organization's own words for a message in one language; what it did not
// write is empty. One that wrote nothing has sequence 0 and the times of the first start.
type Custom struct {
	resource.Record
	Texts
}

// IsDefault reports whether no part is the organization's own.
func (c Custom) IsDefault() bool { return c.Texts == Texts{} }

// Write replaces the organization's words and returns the names of the parts that
// are different now.
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

// Reset takes the organization's words away; ErrCustomNotFound where there are none.
func (c *Custom) Reset() error {
	if c.IsDefault() {
		return ErrCustomNotFound
	}
	c.Texts = Texts{}
	return nil
}
