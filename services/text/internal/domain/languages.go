package domain

import (
	"fmt"
	"slices"
	"strings"

	"herald/shared/fault"
	"herald/shared/resource"
)

// Faults of the instance's languages.
var (
	ErrNotAllowed = fault.New(fault.Precondition, "LANGUAGE_NOT_ALLOWED", "The language is not an allowed one").
			On("language", "must be an allowed language")
	ErrDefaultMissing = fault.New(fault.Invalid, "DEFAULT_LANGUAGE_NOT_ALLOWED",
		"The default language must be among the allowed languages")
)

// Languages is what administrators decided about the languages of mails and pages. It
// limits what readers get, never what texts may be written in or asked for.
type Languages struct {
	resource.Record
	// DefaultLanguage is empty as long as the setting counts.
	DefaultLanguage string
	// AllowedLanguages is empty where all supported ones are, of later versions too.
	AllowedLanguages []string
}

// Default is the language of readers whose own cannot be used. It is always allowed.
func (l Languages) Default(c Catalog) string {
	if c.texts[l.DefaultLanguage] == nil {
		return c.setting
	}
	return l.DefaultLanguage
}

// Allowed lists the languages of mails and pages, sorted.
func (l Languages) Allowed(c Catalog) []string {
	if len(l.AllowedLanguages) == 0 {
		return c.Languages()
	}
	return l.AllowedLanguages
}

// For is the language that a reader gets: the nearest to the preferred one that is
// allowed, else the default. What is no tag is no preference.
func (l Languages) For(c Catalog, preferred string) string {
	if tag, err := lookup(preferred, l.Allowed(c)); err == nil && c.texts[tag] != nil {
		return tag
	}
	return l.Default(c)
}

// SetDefault replaces the default language by a supported one; false where it is that one
// already.
func (l *Languages) SetDefault(c Catalog, language string) (changed bool, err error) {
	if !slices.Contains(l.Allowed(c), language) {
		return false, ErrNotAllowed.Say("%s is not among the allowed languages %s", language,
			strings.Join(l.Allowed(c), ", "))
	}
	changed = l.Default(c) != language
	l.DefaultLanguage = language
	return changed, nil
}

// SetAllowed replaces the allowed languages by supported ones, or by all of them where
// none is given; false where they are the same. From then on the default language is
// kept beside them, so that another setting cannot put it outside.
func (l *Languages) SetAllowed(c Catalog, languages []string) (changed bool, err error) {
	was, standard := l.Allowed(c), l.Default(c)
	if len(languages) > 0 && !slices.Contains(languages, standard) {
		reason := "must contain the default language " + standard
		return false, ErrDefaultMissing.Say("languages: %s", reason).On("languages", reason)
	}
	if len(languages) == len(c.texts) {
		languages = nil
	}
	l.DefaultLanguage, l.AllowedLanguages = standard, languages
	return !slices.Equal(was, l.Allowed(c)), nil
}

// AllListed is Listed for the field languages: sorted, each once. ErrUnsupported names
// every one that is not supported.
func (c Catalog) AllListed(tags []string) (languages []string, err error) {
	f := ErrUnsupported
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
