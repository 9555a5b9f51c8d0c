// Package mailkind lists the mails that Herald sends to people. By this list users makes their codes,
// text holds their texts, the notifier sends them and auth shows the pages behind their links. A notice
// has neither a code nor a link: it tells of a change.
//
// mailevent knows which events ask for a mail, mailrender makes one.
package mailkind

import (
	"fmt"
	"slices"
)

// Kind is the name of a mail. Its code, texts, notification and pages, as far as it has them, have the same
// name.
type Kind string

// The kinds of mails.
const (
	// Init lets a new user set the first password or verify the address.
	Init Kind = "init"
	// VerifyEmail lets a user prove that the address is theirs.
	VerifyEmail Kind = "verifyemail"
	// PasswordReset lets a user who forgot the password set a new one.
	PasswordReset Kind = "passwordreset"
	// EmailChanged is the notice to an address that it is no longer the user's.
	EmailChanged Kind = "emailchanged"
	// PasswordChanged is the notice to a user that the password was changed.
	PasswordChanged Kind = "passwordchanged"
	// OTPAdded is the notice to a user that logins ask for a code of an authenticator app from now on.
	OTPAdded Kind = "otpadded"
	// OTPRemoved is the notice to a user that they ask for none any more.
	OTPRemoved Kind = "otpremoved"
	// RecoveryCodeUsed is the notice to a user that somebody logged in with a recovery code.
	RecoveryCodeUsed Kind = "recoverycodeused"
)

// Password says whether the page of a mail asks for a new password.
type Password int

// What a page asks for.
const (
	NeverAsked Password = iota
	AlwaysAsked
	// AskedIfMissing asks only users without a password; the link says whether the user has one.
	AskedIfMissing
)

// Page is where the link of a mail leads.
type Page struct {
	// Path begins with a slash and stands below the public URL.
	Path     string
	Password Password
}

// kinds is the list.
var kinds = []struct {
	kind Kind
	page Page
}{
	{Init, Page{"/ui/login/user/init", AskedIfMissing}},
	{VerifyEmail, Page{"/ui/login/mail/verification", NeverAsked}},
	{PasswordReset, Page{"/ui/login/password/reset", AlwaysAsked}},
	{EmailChanged, Page{}},
	{PasswordChanged, Page{}},
	{OTPAdded, Page{}},
	{OTPRemoved, Page{}},
	{RecoveryCodeUsed, Page{}},
}

// All returns every kind.
func All() []Kind {
	all := make([]Kind, len(kinds))
	for i, k := range kinds {
		all[i] = k.kind
	}
	return all
}

// Parse returns the kind of that name; it fails for an unknown one.
func Parse(name string) (Kind, error) {
	if !slices.Contains(All(), Kind(name)) {
		return "", fmt.Errorf("there is no mail of kind %q", name)
	}
	return Kind(name), nil
}

// Coded returns the kinds whose mails have a code and a link to a page.
func Coded() []Kind { return slices.DeleteFunc(All(), Kind.Notice) }

// Notice reports whether k is a kind whose mails have neither a code nor a link.
func (k Kind) Notice() bool { return slices.Contains(All(), k) && k.Page() == Page{} }

// Page returns where the link of such a mail leads; the zero Page for a notice or if k is unknown.
func (k Kind) Page() Page {
	for _, known := range kinds {
		if known.kind == k {
			return known.page
		}
	}
	return Page{}
}
