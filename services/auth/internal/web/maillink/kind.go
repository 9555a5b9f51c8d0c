package maillink

import "herald/shared/mailkind"

// kind is the kind of mail whose link leads to a page. The keys of the page's texts begin with it.
type kind mailkind.Kind

func (k kind) page() mailkind.Page { return mailkind.Kind(k).Page() }

func (k kind) path() string { return k.page().Path }

func (k kind) resendPath() string { return k.path() + "/resend" }

func (k kind) text(name string) string { return string(k) + "." + name }

func (k kind) asksPassword(l link) bool {
	switch k.page().Password {
	case mailkind.AlwaysAsked:
		return true
	case mailkind.AskedIfMissing:
		return !l.PasswordSet
	}
	return false
}
