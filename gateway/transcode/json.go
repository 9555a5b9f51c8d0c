// Package transcode reads requests from JSON and from queries into protobuf
// messages, and writes answers as JSON. It is stricter than protojson: what a sender
// cannot have meant is refused, by the name of the field where there is one, instead
// of becoming a default. Its texts repeat nothing of what was sent.
package transcode

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
)

// MaxDepth is how deep objects and lists may be nested.
const MaxDepth = 32

// ErrJSON answers for a body that is not JSON, or not of the shape asked for.
var ErrJSON = fault.New(fault.Invalid, "MALFORMED_JSON", "The body is not the JSON that this method reads")

var lenient = protojson.UnmarshalOptions{DiscardUnknown: true} // after the walk

// Decode reads a whole body into m; an empty one stands for {}. Names may be written
// in camelCase or snake_case, unknown ones are ignored. Every error is a fault.
func Decode(body []byte, m proto.Message) error {
	if len(body) == 0 {
		return nil
	}
	if !json.Valid(body) {
		return ErrJSON
	}
	w := walk{rest: body}
	if flaw := w.message(m.ProtoReflect().Descriptor()); flaw != nil {
		return flaw.fault()
	}
	if lenient.Unmarshal(body, m) != nil { // invalid UTF-8 too; its texts quote the body
		return ErrJSON
	}
	return nil
}

// flaw is what is wrong with a value, and where. Whoever reads an outer value puts
// its part in front of the path.
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
