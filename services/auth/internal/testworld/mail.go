package testworld

import (
	"net/url"
)

// Journey is a kind of mail with the path and forms of its pages.
type Journey struct {
	Kind, Path string
	// Form is the name of the first page's texts.
	Form string
	// Password reports that the form asks for a password.
	Password bool
}

var (
	// Initialize activates an account.
	Initialize = Journey{"init", "/ui/login/user/init", "init.form", true}
	// Journeys are all kinds of mails with a code.
	Journeys = []Journey{
		Initialize,
		{"verifyemail", "/ui/login/mail/verification", "verifyemail.confirm", false},
		{"passwordreset", "/ui/login/password/reset", "passwordreset.form", true},
	}
)

// Link returns the address in the mail, with other values in its query.
func (j Journey) Link(values ...string) string { return j.Path + "?" + Linked(values...).Encode() }

// Filled returns the values of the form with a good password, if it asks for one, and with other
// values.
func (j Journey) Filled(values ...string) url.Values {
	if j.Password {
		values = append([]string{"password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}, values...)
	}
	return Linked(values...)
}

// Linked returns the values of a link or of its form. Names and values in turn replace some of them.
func Linked(values ...string) url.Values {
	v := url.Values{"userID": {"u1"}, "orgID": {"o1"}, "code": {"GUTERKXD"}}
	for i := 0; i < len(values); i += 2 {
		v.Set(values[i], values[i+1])
	}
	return v
}
