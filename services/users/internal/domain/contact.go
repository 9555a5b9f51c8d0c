package domain

import (
	"errors"
	"strings"

	"golang.org/x/text/language"

	"herald/shared/address"
	"herald/shared/fault"
)

// Faults of what reaches a person.
var (
	ErrEmail = fault.New(fault.Invalid, "EMAIL_INVALID",
		"An e-mail address is one address such as mini@example.com, at most 254 characters")
	ErrLanguage = fault.New(fault.Invalid, "PREFERRED_LANGUAGE_INVALID", "A language tag is one such as de or pt-BR")
)

// CheckEmail refuses what is not one address to which a mail can be sent. Field is the
// path of the field it came in.
func CheckEmail(field, s string) error {
	if _, err := address.Parse(s); err != nil {
		return ErrEmail.Say("%s: one address such as mini@example.com, at most 254 characters", field).
			On(field, "is not an e-mail address")
	}
	return nil
}

// Language reads a language tag (BCP 47; an underscore counts as a hyphen). What is
// well-formed is kept, also when nobody has heard of it. Field is the path of the field it came in.
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
	return "", ErrLanguage.Say("%s: a language tag such as de or pt-BR", field).
		On(field, "is not a BCP 47 language tag")
}
