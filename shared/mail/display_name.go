package mail

import (
	"strings"
	"unicode"
)

// DisplayName returns the display name of a person who has not chosen one. In some languages the family name is
// first. Names in Han or Hangul have no space between them. The users service stores this name. The account pages
// compare with it to find out whether the person chose a name.
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
