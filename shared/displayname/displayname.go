// Package displayname makes the display names of people who have not chosen one. Users stores them, and the pages of an
// account tell them from names that were chosen.
package displayname

import (
	"strings"
	"unicode"
)

// Of returns what a person is called who has not chosen a display name, in the person's language: in some
// the family name comes first, and where names have no spaces between them there is none.
func Of(language, first, last string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(language, "_", "-")), "-")
	switch base {
	case "zh", "ko":
		if spaceless(first) && spaceless(last) {
			return last + first
		}
		return last + " " + first
	case "ja", "hu":
		return last + " " + first
	}
	return first + " " + last
}

// spaceless reports whether a name is written in Han or Hangul.
func spaceless(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return !unicode.In(r, unicode.Han, unicode.Hangul) })
}
