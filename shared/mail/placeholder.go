package mail

import (
	"fmt"
	"strings"
)

// maxPiece is the largest number of runes that a PlaceholderError quotes.
const maxPiece = 60

// PlaceholderError quotes the piece of a text that is not a placeholder.
type PlaceholderError struct {
	// Piece starts at the wrong braces and has at most 60 runes. If it was cut, it ends with "…".
	Piece string
}

// Error returns a sentence that quotes the piece.
func (e *PlaceholderError) Error() string {
	return fmt.Sprintf("%q is not a placeholder", e.Piece)
}

// CheckPlaceholders returns a *PlaceholderError for the first double brace in a text, opening or closing, that is not
// part of a known placeholder such as {{.FirstName}}. Single braces are ordinary characters. Placeholders are not a
// template language: the list of names is fixed, and there are no functions, methods or conditions.
func CheckPlaceholders(text string) error {
	for i := 0; i < len(text); {
		if !strings.HasPrefix(text[i:], "{{") && !strings.HasPrefix(text[i:], "}}") {
			i++
			continue
		}
		_, size := match(text[i:])
		if size == 0 {
			return &PlaceholderError{Piece: excerpt(text[i:])}
		}
		i += size
	}
	return nil
}

// ExpandPlaceholders replaces each placeholder in a text by the value of its name, such as "FirstName". Braces that
// CheckPlaceholders would refuse stay unchanged. Values are not expanded again, so a user whose name is {{.Code}}
// gets a mail with that name.
func ExpandPlaceholders(text string, value func(name string) string) string {
	var out strings.Builder
	start := 0
	for i := 0; i < len(text); {
		name, size := match(text[i:])
		if size == 0 {
			i++
			continue
		}
		out.WriteString(text[start:i])
		out.WriteString(value(name))
		i += size
		start = i
	}
	out.WriteString(text[start:])
	return out.String()
}

// match returns the name and the length in bytes of the placeholder at the start of text. The length is 0 if there is
// none. It reads only up to the next brace, so that a text is read in linear time.
func match(text string) (name string, size int) {
	inner, found := strings.CutPrefix(text, "{{")
	if !found {
		return "", 0
	}
	inner, found = strings.CutPrefix(strings.TrimLeft(inner, " "), ".")
	if !found {
		return "", 0
	}
	end := 0
	for end < len(inner) && isLetter(inner[end]) {
		end++
	}
	name = inner[:end]
	rest, found := strings.CutPrefix(strings.TrimLeft(inner[end:], " "), "}}")
	if !found || !known(name) {
		return "", 0
	}
	return name, len(text) - len(rest)
}

func isLetter(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

func known(name string) bool {
	switch name {
	case "FirstName", "LastName", "NickName", "DisplayName",
		"UserName", "LoginName", "LoginNames", "PreferredLoginName",
		"LastEmail", "VerifiedEmail", "LastPhone", "VerifiedPhone",
		"UserID", "OrgID", "OrgName", "CreationDate", "ChangeDate", "Code", "Expiry", "ChangedBy":
		return true
	}
	return false
}

// excerpt returns text up to its first closing braces, or its first 60 runes.
func excerpt(text string) string {
	runes := 0
	for i := range text {
		if strings.HasSuffix(text[:i], "}}") {
			return text[:i]
		}
		if runes++; runes == maxPiece && len(text) > i+1 {
			return text[:i] + "…"
		}
	}
	return text
}
