// Package transcode parses JSON bodies and URL queries into protobuf messages, and writes answers
// as JSON. It is stricter than protojson: a value of another type is refused, with the name of the
// field, and not replaced by a default. Its errors quote nothing of the request.
package transcode

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
)

// MaxDepth is how deep objects and lists may be nested.
const MaxDepth = 32

// ErrJSON is returned for a body that is not JSON, or is no JSON object of the message.
var ErrJSON = fault.New(fault.Invalid, "JSON_MALFORMED", "The body is not the JSON that this method reads")

// lenient ignores unknown names; walk has checked the known ones.
var lenient = protojson.UnmarshalOptions{DiscardUnknown: true}

// Decode parses a body into m; an empty body counts as {}. Names may be written in camelCase or
// snake_case, unknown ones are ignored. Every error is a fault.
func Decode(body []byte, m proto.Message) error {
	if len(body) == 0 {
		return nil
	}
	if !json.Valid(body) {
		return ErrJSON
	}
	proto.Reset(m)
	// protojson knows which characters there are, and reads \u escapes more strictly than encoding/json.
	w := walk{rest: body, partial: !utf8.Valid(body) || bytes.Contains(body, []byte(`\u`))}
	if flaw := w.message(m.ProtoReflect().Descriptor(), m.ProtoReflect()); flaw != nil {
		proto.Reset(m)
		return flaw.fault()
	}
	if w.partial && lenient.Unmarshal(body, m) != nil { // also invalid UTF-8; the error would quote the body
		return ErrJSON
	}
	return nil
}

// flaw says what is wrong with a value. path leads to the value; each enclosing object and list
// adds its own part at the front with under.
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
	if f.path == "" {
		return ErrJSON.Say("The body %s", f.reason)
	}
	return fault.ErrInvalid.On(f.path, f.reason).Say("%s: %s", f.path, f.reason)
}
