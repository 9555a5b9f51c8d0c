// Package mail holds what several services must know about the mails that Herald sends. It has the kinds of mails and
// the pages behind their links, the placeholders of their texts, the rule for addresses, and the display names of
// people. The users service makes codes, the text service stores the texts, the notifier sends the mails, and auth
// shows the pages.
//
// Package mailer makes the mails.
package mail

import (
	"fmt"
	"slices"
)

// Kind is the name of a kind of mail. Its code, texts, notification and pages have the same name, if they exist. A
// notice is a kind without a code and without a link: it reports a change.
type Kind string

// The kinds of mails.
const (
	// Init lets a new user set the first password or verify the address.
	Init Kind = "init"
	// VerifyEmail lets a user prove that the address is theirs.
	VerifyEmail Kind = "verifyemail"
	// PasswordReset lets a user who forgot the password set a new one.
	PasswordReset Kind = "passwordreset"
	// EmailChanged is the notice to an old address that the user does not use it any more.
	EmailChanged Kind = "emailchanged"
	// PasswordChanged is the notice to a user that the password was changed.
	PasswordChanged Kind = "passwordchanged"
	// OTPAdded is the notice to a user that logins now ask for a code of an authenticator app.
	OTPAdded Kind = "otpadded"
	// OTPRemoved is the notice to a user that logins do not ask for such a code any more.
	OTPRemoved Kind = "otpremoved"
	// RecoveryCodeUsed is the notice to a user that somebody logged in with a recovery code.
	RecoveryCodeUsed Kind = "recoverycodeused"
	// PATAdded is the notice to a user that there is a new personal access token of theirs.
	PATAdded Kind = "patadded"
	// IdpLinkAdded is the notice to a user that an account at an identity provider was linked.
	IdpLinkAdded Kind = "idplinkadded"
	// Expiring is the notice to a user of which keys, secrets and tokens end soon. It has a link without a code.
	Expiring Kind = "expiring"
)

// Password says whether the page of a mail asks for a new password.
type Password int

// What a page asks for.
const (
	NeverAsked Password = iota
	AlwaysAsked
	// AskedIfMissing asks only users without a password. The link contains whether the user has one.
	AskedIfMissing
)

// Page is the page that the link of a mail opens.
type Page struct {
	// Path is the path below the public URL. It begins with a slash.
	Path     string
	Password Password
}

// kinds lists every kind with its page. A notice has no page.
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
	{PATAdded, Page{}},
	{IdpLinkAdded, Page{}},
	{Expiring, Page{}},
}

// Kinds returns every kind.
func Kinds() []Kind {
	all := make([]Kind, len(kinds))
	for i, k := range kinds {
		all[i] = k.kind
	}
	return all
}

// ParseKind returns the kind with that name. It fails for an unknown name.
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

// Page returns the page that the link of such a mail opens. It returns the zero Page for a notice or an unknown kind.
func (k Kind) Page() Page {
	for _, known := range kinds {
		if known.kind == k {
			return known.page
		}
	}
	return Page{}
}
