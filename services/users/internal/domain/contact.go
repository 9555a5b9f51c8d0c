package domain

import (
	"errors"
	"strings"

	"golang.org/x/text/language"

	"herald/shared/gen/fault/usersfault"
	"herald/shared/mail"
)

// CheckEmail returns a fault if a text is not one e-mail address. Field is the path of its field.
func CheckEmail(field, s string) error {
	if _, err := mail.ParseAddress(s); err != nil {
		return usersfault.ErrEmailInvalid.Say("%s: one address such as mini@example.com, at most 254 characters",
			field).
			On(field, "is not an e-mail address")
	}
	return nil
}

// Language parses a language tag (BCP 47; an underscore counts as a hyphen). It accepts well-formed
// tags of unknown languages. Field is the path of its field.
func Language(field, s string) (string, error) {
	if s == "" {
		return "", nil
	}
	s = strings.ReplaceAll(s, "_", "-")
	tag, err := language.Parse(s)
	if err == nil {
		return tag.String(), nil
	}
	if _, unknown := errors.AsType[language.ValueError](err); unknown {
		return s, nil
	}
	return "", usersfault.ErrPreferredLanguageInvalid.Say("%s: a language tag such as de or pt-BR", field).
		On(field, "is not a BCP 47 language tag")
}
