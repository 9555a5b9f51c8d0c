package smtp

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// private is what a mail contains and a stored reply of the relay must not: whoever reads the replies could use the
// code or the link of the mail. The zero private is for a relay that does not know the mail yet.
type private struct{ code, to string }

const (
	// part is how many characters of the code in a row must not be in a reply.
	part = 4
	// longName is the length from which the name before the @ is looked for everywhere, and not only as a word.
	longName = 5
	// maxQuoted is longer than ids of mails in replies. A longer word may be an encoded line of the mail.
	maxQuoted = 40
)

// leftOut stands in a reply for what is left out.
const leftOut = "…"

// enhanced is an enhanced code (RFC 3463), which is in every line of a reply (RFC 2034).
var enhanced = regexp.MustCompile(`(?m)^[245]\.\d{1,3}\.\d{1,3}(?:[ \t]+|$)`)

// words returns a reply on one line: the code, the enhanced code, and the relay's text without what it may quote of
// the mail.
func (p private) words(reply *textproto.Error) string {
	status := strings.TrimSpace(enhanced.FindString(reply.Msg))
	text := p.clean(enhanced.ReplaceAllString(reply.Msg, ""))
	return shortened(fmt.Sprintf("%d %s %s", reply.Code, status, text), maxWords)
}

// clean leaves out of a text each word that may be a link, an address or an encoded part of the mail. If the words
// that are left contain a part of the code or of the address, however it is divided, doubled or encoded, clean leaves
// out all. It does the same if there are other words between the pieces of the code.
func (p private) clean(text string) string {
	name := p.name()
	var kept []string
	for word := range strings.FieldsFuncSeq(text, separates) {
		switch plain := squeezed(word); {
		case !strings.ContainsFunc(word, strange) && utf8.RuneCountInString(word) <= maxQuoted &&
			(plain != name || name == ""):
			kept = append(kept, word)
		case len(kept) == 0 || kept[len(kept)-1] != leftOut:
			kept = append(kept, leftOut)
		}
	}
	all := strings.Join(kept, "")
	if p.isIn(p.pieces(kept)) || slices.ContainsFunc(append(decoded(all), all), p.isIn) {
		return leftOut
	}
	return strings.Join(kept, " ")
}

// isIn reports whether a text contains a part of the code or of the address, also if each character is repeated.
func (p private) isIn(text string) bool {
	text = squeezed(text)
	single := private{code: undoubled(p.code), to: undoubled(p.to)}
	within := func(text string) func(string) bool {
		return func(fragment string) bool { return strings.Contains(text, fragment) }
	}
	return slices.ContainsFunc(p.fragments(), within(text)) ||
		slices.ContainsFunc(single.fragments(), within(undoubled(text)))
}

// decoded returns what a text is if all of it or a part is Base64, in either alphabet and without padding, or
// hexadecimal.
func decoded(text string) (all []string) {
	text = norm.NFKC.String(text)
	only := func(text, alphabet string) string {
		return strings.Map(func(r rune) rune {
			if strings.ContainsRune(alphabet, r) {
				return r
			}
			return -1
		}, text)
	}
	digits := only(strings.ReplaceAll(strings.ToLower(text), "0x", ""), "0123456789abcdef")
	for from := range min(2, len(digits)) {
		plain, _ := hex.DecodeString(digits[from:]) // it returns what was right before an error
		all = append(all, string(plain))
	}
	digits = only(text, base64url)
	for from := range min(4, len(digits)) {
		plain, _ := base64.RawURLEncoding.DecodeString(digits[from:])
		all = append(all, string(plain))
	}
	return all
}

// base64url is the alphabet of RFC 4648, section 5. The other one has characters that clean takes for strange.
const base64url = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// undoubled returns a text without characters that repeat the one before.
func undoubled(text string) string { return string(slices.Compact([]rune(text))) }

// pieces returns those of some words that are a piece of the code, joined: the code with other words between.
func (p private) pieces(words []string) string {
	code, joined := squeezed(p.code), ""
	for _, word := range words {
		if piece := squeezed(word); strings.Contains(code, piece) {
			joined += piece
		}
	}
	return joined
}

// name returns what stands before the @ of the address, squeezed.
func (p private) name() string {
	name, _, _ := strings.Cut(p.to, "@")
	return squeezed(name)
}

// fragments returns the texts that must not be in a squeezed reply.
func (p private) fragments() (all []string) {
	code := squeezed(p.code)
	for ; len(code) > part; code = code[1:] {
		all = append(all, code[:part])
	}
	address := squeezed(p.to)
	if name := p.name(); len(name) >= longName {
		address = name
	}
	return slices.DeleteFunc(append(all, code, address), func(fragment string) bool { return fragment == "" })
}

// separates reports whether a character is between words.
func separates(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// strange reports whether a character is in links, addresses and encoded texts, but not in sentences.
func strange(r rune) bool {
	return !unicode.In(r, unicode.Letter, unicode.Digit, unicode.Mark) && !strings.ContainsRune(`.,:;!?'"()[]*_-#`, r)
}

// squeezed returns only the letters and digits of a text, in capitals and of the usual width.
func squeezed(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToUpper(r)
	}, norm.NFKC.String(text))
}
