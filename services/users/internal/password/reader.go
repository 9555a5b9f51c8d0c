package password

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// reader takes a hash apart. What it first finds wrong stays in err; what it
// returns from then on is empty. No error repeats any of the text: in a damaged
// hash the secret may stand anywhere.
type reader struct {
	text string
	err  error
}

func (r *reader) require(good bool, format string, args ...any) {
	if !good && r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// split returns as many parts as the layout has.
func (r *reader) split(layout string) []string {
	parts := strings.Split(r.text, "$")
	if n := strings.Count(layout, "$") + 1; len(parts) != n {
		r.require(false, "expected %s", layout)
		return make([]string, n)
	}
	return parts
}

// limit is the range that a number or a length must lie in.
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

// parameters reads "name=number,…", every name once and in any order, and
// returns the numbers in the order of the limits.
func (r *reader) parameters(text string, limits ...limit) []int {
	given := make(map[string]string)
	for parameter := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(parameter, "=")
		_, twice := given[name]
		r.require(!twice, "a parameter is given twice")
		given[name] = value
	}
	numbers := make([]int, len(limits))
	for i, l := range limits {
		numbers[i] = r.number(given[l.name], l)
	}
	r.require(len(given) == len(limits), "a parameter is unknown")
	return numbers
}

// standard turns the other alphabets of base64 into that of RFC 4648, section 4.
var standard = strings.NewReplacer(".", "+", "-", "+", "_", "/")

// bytes decodes base64: standard, URL-safe or passlib's adapted one ("." for
// "+"), padded or not.
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

// cryptKey checks a key of that many bytes in crypt(3)'s base64. It puts the
// low bits first, so that the last character holds only what is left over; one
// with more could never come out again.
func (r *reader) cryptKey(text string, size int) []byte {
	chars := (8*size + 5) / 6
	r.require(len(text) == chars, "key must have %d characters, not %d", chars, len(text))
	r.require(strings.Trim(text, crypt64) == "" &&
		strings.LastIndexAny(text, crypt64[:64>>(6*chars-8*size)]) == chars-1,
		"key is not in the base64 of crypt(3)")
	return []byte(text)
}
