package domain

import (
	"fmt"
	"slices"
	"strings"

	"herald/shared/gen/fault/textfault"
	"herald/shared/resource"
)

// Languages is the default and allowed languages of mails and pages. Texts can still be written
// and read in all supported languages.
type Languages struct {
	resource.Record
	// DefaultLanguage is empty while the setting is in use.
	DefaultLanguage string
	// AllowedLanguages is empty if all supported languages are allowed, also those of later
	// versions.
	AllowedLanguages []string
}

// Default returns the language for readers whose own is not allowed. It is always an allowed one.
func (l Languages) Default(c Catalog) string {
	if c.texts[l.DefaultLanguage] == nil {
		return c.setting
	}
	return l.DefaultLanguage
}

// Allowed returns the sorted languages of mails and pages.
func (l Languages) Allowed(c Catalog) []string {
	if len(l.AllowedLanguages) == 0 {
		return c.Languages()
	}
	return l.AllowedLanguages
}

// For returns the language for a reader: the allowed one that is nearest to the preferred one, else
// the default. A text that is not a tag counts as no preference.
func (l Languages) For(c Catalog, preferred string) string {
	if tag, err := lookup(preferred, l.Allowed(c)); err == nil && c.texts[tag] != nil {
		return tag
	}
	return l.Default(c)
}

// SetDefault sets the default language to a supported one. It returns false if it is the same.
func (l *Languages) SetDefault(c Catalog, language string) (changed bool, err error) {
	if !slices.Contains(l.Allowed(c), language) {
		return false, textfault.ErrLanguageNotAllowed.Say("%s is not among the allowed languages %s", language,
			strings.Join(l.Allowed(c), ", "))
	}
	changed = l.Default(c) != language
	l.DefaultLanguage = language
	return changed, nil
}

// SetAllowed sets the allowed languages to supported ones, or to all if languages is empty. It
// returns false if they are the same. It also stores the default language, so that a changed
// setting cannot make a language the default that is not allowed.
func (l *Languages) SetAllowed(c Catalog, languages []string) (changed bool, err error) {
	was, standard := l.Allowed(c), l.Default(c)
	if len(languages) > 0 && !slices.Contains(languages, standard) {
		reason := "must contain the default language " + standard
		return false, textfault.ErrDefaultLanguageNotAllowed.Say("languages: %s", reason).On("languages", reason)
	}
	if len(languages) == len(c.texts) {
		languages = nil
	}
	l.DefaultLanguage, l.AllowedLanguages = standard, languages
	return !slices.Equal(was, l.Allowed(c)), nil
}

// AllListed is Listed for the field languages. It returns each language once, sorted.
// ErrLanguageNotSupported names every language that is not supported.
func (c Catalog) AllListed(tags []string) (languages []string, err error) {
	f := textfault.ErrLanguageNotSupported
	var said []string
	for i, tag := range tags {
		language, ok := c.listed(tag)
		if !ok {
			said = append(said, fmt.Sprintf("%.40q", tag))
			f = f.On(fmt.Sprintf("languages[%d]", i), c.mustBeListed())
		}
		languages = append(languages, language)
	}
	if len(said) > 0 {
		return nil, f.Say("languages: each %s, not %s", c.mustBeListed(), strings.Join(said, ", "))
	}
	slices.Sort(languages)
	return slices.Compact(languages), nil
}
