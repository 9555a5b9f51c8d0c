package maillink

import "herald/shared/mail"

// kind is the kind of mail whose link leads to a page. The keys of the page's texts begin with it.
type kind mail.Kind

func (k kind) page() mail.Page { return mail.Kind(k).Page() }

func (k kind) path() string { return k.page().Path }

func (k kind) resendPath() string { return k.path() + "/resend" }

func (k kind) text(name string) string { return string(k) + "." + name }

func (k kind) asksPassword(l link) bool {
	switch k.page().Password {
	case mail.AlwaysAsked:
		return true
	case mail.AskedIfMissing:
		return !l.PasswordSet
	}
	return false
}
