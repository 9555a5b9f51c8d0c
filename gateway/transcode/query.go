package transcode

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/gen/fault/gatewayfault"
)

// Query parses the parameters of a URL into the scalar fields of m and of its singular messages:
// query.limit=5. Names may be written in camelCase or snake_case, unknown ones are ignored. Every
// error is a fault.
func Query(raw string, m proto.Message) error {
	if raw == "" {
		return nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return gatewayfault.ErrQueryMalformed
	}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		path := find(m.ProtoReflect().Descriptor(), name)
		if path == nil {
			continue
		}
		known := jsonName(path)
		if seen[known] || len(values[name]) > 1 {
			return (&flaw{known, "is given twice"}).fault()
		}
		seen[known] = true
		if err := parameter(path, values[name][0], m); err != nil {
			return err
		}
	}
	return nil
}

// parameter sets one field to a value, which must be valid in JSON too.
func parameter(path []protoreflect.FieldDescriptor, value string, m proto.Message) error {
	if !utf8.ValidString(value) {
		return (&flaw{jsonName(path), "is not valid UTF-8"}).fault()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if path[len(path)-1].Kind() == protoreflect.BoolKind && (value == "true" || value == "false") {
		text = []byte(value)
	}
	body := string(text)
	for _, f := range slices.Backward(path) {
		body = `{"` + f.JSONName() + `":` + body + `}`
	}
	one := m.ProtoReflect().New().Interface()
	if err := Decode([]byte(body), one); err != nil {
		return err
	}
	proto.Merge(m, one)
	return nil
}

// find returns the fields that a dotted name leads through, the last one scalar; nil if there are
// none.
func find(d protoreflect.MessageDescriptor, name string) []protoreflect.FieldDescriptor {
	var path []protoreflect.FieldDescriptor
	for part := range strings.SplitSeq(name, ".") {
		if d == nil {
			return nil
		}
		f := named(d, part)
		if f == nil || f.IsList() || f.IsMap() {
			return nil
		}
		path, d = append(path, f), f.Message()
	}
	if d != nil && d.ParentFile().Package() != "google.protobuf" {
		return nil
	}
	return path
}

func jsonName(path []protoreflect.FieldDescriptor) string {
	var names []string
	for _, f := range path {
		names = append(names, f.JSONName())
	}
	return strings.Join(names, ".")
}
