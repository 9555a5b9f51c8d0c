// Package mail holds what services must know alike about the mails that Herald sends: their kinds and the pages behind
// their links, the placeholders of their texts, the addresses to which they can go, and how they call people. The users
// service makes codes by it, the text service holds the texts, the notifier sends the mails, and auth shows the pages.
//
// Package mailer makes the mails.
package mail

import (
	"fmt"
	"slices"
)

// Kind is the name of a mail. Its code, texts, notification and pages have the same name, as far as it has them. A
// notice is a kind with neither a code nor a link: it reports a change.
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

// Kinds returns every kind.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, k := range kinds {
		all[i] = k.kind
	}
	return all
}

// ParseKind returns the kind of that name; it fails for an unknown one.
func ParseKind(name string) (Kind, error) {
	if !slices.Contains(Kinds(), Kind(name)) {
		return "", fmt.Errorf("there is no mail of kind %q", name)
	}
	return Kind(name), nil
}

// CodedKinds returns the kinds whose mails have a code and a link to a page.
func CodedKinds() []Kind { return slices.DeleteFunc(Kinds(), Kind.Notice) }

// Notice reports whether k is a kind whose mails have neither a code nor a link.
func (k Kind) Notice() bool { return slices.Contains(Kinds(), k) && k.Page() == Page{} }

// Page returns where the link of such a mail leads; the zero Page for a notice or if k is unknown.
func (k Kind) Page() Page {
	for _, known := range kinds {
		if known.kind == k {
			return known.page
		}
	}
	return Page{}
}
