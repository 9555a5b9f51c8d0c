package password

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// reader parses a hash. It keeps the first error in err and returns empty values after it. No error
// contains a part of the text, because in a damaged hash the secret can be anywhere.
type reader struct {
	text string
	err  error
}

func (r *reader) require(good bool, format string, args ...any) {
	if !good && r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// split splits the text at each $ into as many parts as the layout has.
func (r *reader) split(layout string) []string {
	parts := strings.Split(r.text, "$")
	if n := strings.Count(layout, "$") + 1; len(parts) != n {
		r.require(false, "expected %s", layout)
		return make([]string, n)
	}
	return parts
}

// limit is the allowed range of a number or a length.
type limit struct {
	name        string
	least, most int
}

func (r *reader) number(text string, l limit) int {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n < uint64(l.least) || n > uint64(l.most) {
		r.require(false, "%s must be a number from %d to %d", l.name, l.least, l.most)
		return 0
	}
	return int(n)
}

// parameters parses "name=number,…" with each name once, in any order, and returns the numbers in
// the order of the limits.
func (r *reader) parameters(text string, limits ...limit) []int {
	values := make(map[string]string)
	for parameter := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(parameter, "=")
		_, twice := values[name]
		r.require(!twice, "a parameter is given twice")
		values[name] = value
	}
	numbers := make([]int, len(limits))
	for i, l := range limits {
		numbers[i] = r.number(values[l.name], l)
	}
	r.require(len(values) == len(limits), "a parameter is unknown")
	return numbers
}

// standard replaces the characters of other base64 alphabets by those of RFC 4648, section 4.
var standard = strings.NewReplacer(".", "+", "-", "+", "_", "/")

// bytes decodes base64: standard, URL-safe or passlib's adapted one ("." for "+"), with or without
// padding.
func (r *reader) bytes(text string, l limit) []byte {
	encoding := base64.RawStdEncoding
	if strings.HasSuffix(text, "=") {
		encoding = base64.StdEncoding
	}
	data, err := encoding.DecodeString(standard.Replace(text))
	r.require(err == nil, "%s is not base64", l.name)
	r.require(len(data) >= l.least && len(data) <= l.most,
		"%s must have %d to %d bytes, not %d", l.name, l.least, l.most, len(data))
	return data
}

func (r *reader) salt(text string) []byte { return r.bytes(text, limit{"salt", 1, 1024}) }
func (r *reader) key(text string) []byte  { return r.bytes(text, limit{"key", 4, 128}) }

// crypt64 is the alphabet of crypt(3), in the order of its values.
const crypt64 = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// cryptKey checks a key of size bytes in the base64 of crypt(3). The last character has only the
// remaining bits. A key with more bits set could never match.
func (r *reader) cryptKey(text string, size int) []byte {
	chars := (8*size + 5) / 6
	r.require(len(text) == chars, "key must have %d characters, not %d", chars, len(text))
	r.require(strings.Trim(text, crypt64) == "" &&
		strings.LastIndexAny(text, crypt64[:64>>(6*chars-8*size)]) == chars-1,
		"key is not in the base64 of crypt(3)")
	return []byte(text)
}
