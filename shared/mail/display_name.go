package mail

import (
	"strings"
	"unicode"
)

// DisplayName returns the display name of a person who has not chosen one. In some languages the family name comes
// first. Names in Han or Hangul have no space between them. Users stores the name, and the pages of an account use this
// function to find out whether a name was chosen.
func DisplayName(language, first, last string) string {
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
