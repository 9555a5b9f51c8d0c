// Package transcode parses JSON bodies and URL queries into protobuf messages, and writes answers
// as JSON. It is stricter than protojson: a value of another type is refused, with the name of the
// field, and not replaced by a default. Its errors quote nothing of the request.
package transcode

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
)

// MaxDepth is how deep objects and lists may be nested.
const MaxDepth = 32

// lenient ignores unknown names; walk has checked the known ones.
var lenient = protojson.UnmarshalOptions{DiscardUnknown: true}

// Decode parses a body into m; an empty body counts as {}. Names may be written in camelCase or
// snake_case, unknown ones are ignored. Every error is a fault.
func Decode(body []byte, m proto.Message) error {
	if len(body) == 0 {
		return nil
	}
	if i := unreadable(body); i >= 0 {
		return (&flaw{reason: "is not JSON"}).at(body, i)
	}
	proto.Reset(m)
	// protojson reads \u escapes more strictly than encoding/json.
	w := walk{rest: body, partial: bytes.Contains(body, []byte(`\u`))}
	if flaw := w.message(m.ProtoReflect().Descriptor(), m.ProtoReflect()); flaw != nil {
		proto.Reset(m)
		return flaw.at(body, len(body)-len(w.rest))
	}
	if w.partial {
		if err := lenient.Unmarshal(body, m); err != nil {
			return misfit(err)
		}
	}
	return nil
}

// unreadable returns the offset at which a body is not valid JSON in UTF-8. It returns -1 if it is valid.
func unreadable(body []byte) int {
	if !utf8.Valid(body) {
		for i := 0; ; {
			r, n := utf8.DecodeRune(body[i:])
			if r == utf8.RuneError && n == 1 {
				return i
			}
			i += n
		}
	}
	if json.Valid(body) {
		return loneSurrogate(body)
	}
	syntax, _ := errors.AsType[*json.SyntaxError](json.Unmarshal(body, &json.RawMessage{}))
	if strings.HasPrefix(syntax.Error(), "unexpected end") {
		return len(body)
	}
	return int(syntax.Offset) - 1
}

// loneSurrogate returns the offset of a \u escape that is half of a surrogate pair without the other half. It returns
// -1 if there is none.
func loneSurrogate(body []byte) int {
	for i := 0; ; {
		next := bytes.IndexByte(body[i:], '\\')
		if next < 0 {
			return -1
		}
		i += next
		first := escaped(body[i:])
		switch {
		case !utf16.IsSurrogate(first):
			i += len(`\n`) // or the beginning of a longer escape
		case utf16.DecodeRune(first, escaped(body[i+len(`\u0000`):])) == utf8.RuneError:
			return i
		default:
			i += 2 * len(`\u0000`)
		}
	}
}

// escaped returns the code unit of the \u escape at the beginning of text. It returns -1 if there is none.
func escaped(text []byte) rune {
	if len(text) < len(`\u0000`) || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// place matches the line and column in an error of protojson.
var place = regexp.MustCompile(`\(line (\d+):(\d+)\)`)

// misfit returns the fault for an error of protojson. It uses only the place of the error, because the text of the
// error quotes the body.
func misfit(err error) *fault.Fault {
	if at := place.FindStringSubmatch(err.Error()); at != nil {
		return gatewayfault.ErrJSONMalformed.Say("The body is not the JSON that this method reads, at line %s, "+
			"column %s", at[1], at[2])
	}
	return gatewayfault.ErrJSONMalformed
}

// flaw is what is wrong with a value. path leads to the value. Each enclosing object and list puts its own part in
// front, by the method under.
type flaw struct{ path, reason string }

func (f *flaw) under(part string) *flaw {
	if f == nil {
		return nil
	}
	if f.path != "" && !strings.HasPrefix(f.path, "[") {
		part += "."
	}
	return &flaw{part + f.path, f.reason}
}

func (f *flaw) fault() *fault.Fault {
	return fault.ErrInvalidArgument.On(f.path, f.reason).Say("%s: %s", f.path, f.reason)
}

// at returns the fault of a body with a flaw. It names the field. If the flaw is not in a field, it names the place in
// the body.
func (f *flaw) at(body []byte, offset int) *fault.Fault {
	if f.path != "" {
		return f.fault()
	}
	before := body[:offset]
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return gatewayfault.ErrJSONMalformed.Say("The body %s, at line %d, column %d", f.reason,
		bytes.Count(before, []byte("\n"))+1, column)
}
