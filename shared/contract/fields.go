package contract

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// MaxIDLength is the length in runes beyond which no id can exist.
const MaxIDLength = 200

// ErrNotFound is returned for an id that cannot exist.
var ErrNotFound = fault.New(fault.NotFound, "NOT_FOUND", "Not found")

// Validate trims the fields that have the option trim and checks the contract's field rules.
// Its fault names every invalid field by its JSON path.
func Validate(m proto.Message) error {
	f := fault.ErrInvalid
	var said []string
	flaw := func(path, reason string) {
		f = f.On(path, reason)
		said = append(said, path+": "+reason)
	}
	for _, path := range trim(m.ProtoReflect()) {
		flaw(path, "names no filter")
	}
	err := protovalidate.Validate(m)
	if invalid, ok := errors.AsType[*protovalidate.ValidationError](err); ok {
		for _, v := range invalid.Violations {
			flaw(jsonPath(v.Proto.GetField()), v.Proto.GetMessage())
		}
	} else if err != nil {
		return err
	}
	if said == nil {
		return nil
	}
	return f.Say("%s", strings.Join(said, "; "))
}

// Check checks the ids of the path, then the request with Validate. An id that cannot exist
// never reaches a database.
func (m Method) Check(request proto.Message) error {
	for _, f := range m.ids {
		v := request.ProtoReflect().Get(f).String()
		if utf8.RuneCountInString(v) > MaxIDLength || strings.ContainsRune(v, 0) {
			return ErrNotFound
		}
	}
	return Validate(request)
}

// trim removes the white space around every field that has the option, at any depth. It
// returns the paths of filters in which nothing is set.
func trim(m protoreflect.Message) (empty []string) {
	bare := true
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		bare = false
		switch {
		case f.Kind() == protoreflect.StringKind && !f.IsList() && trimmed(f):
			m.Set(f, protoreflect.ValueOfString(strings.TrimSpace(v.String())))
		case f.Kind() != protoreflect.MessageKind || f.IsMap():
		case f.IsList():
			for i := range v.List().Len() {
				for _, path := range trim(v.List().Get(i).Message()) {
					empty = append(empty, strings.TrimSuffix(fmt.Sprintf("%s[%d].%s", f.JSONName(), i, path), "."))
				}
			}
		default:
			for _, path := range trim(v.Message()) {
				empty = append(empty, strings.TrimSuffix(f.JSONName()+"."+path, "."))
			}
		}
		return true
	})
	if bare && filters(m.Descriptor()) {
		return []string{""}
	}
	return empty
}

func filters(m protoreflect.MessageDescriptor) bool {
	on, _ := proto.GetExtension(m.Options(), heraldv1.E_Filter).(bool)
	return on
}

func trimmed(f protoreflect.FieldDescriptor) bool {
	on, _ := proto.GetExtension(f.Options(), heraldv1.E_Trim).(bool)
	return on
}

// jsonPath returns a path as callers of the REST API know it: queries[0].nameQuery.name.
func jsonPath(path *validate.FieldPath) string {
	s := protovalidate.FieldPathString(path)
	var b strings.Builder
	upper := false
	for _, r := range s {
		switch {
		case r == '_':
			upper = true
		case upper && r >= 'a' && r <= 'z':
			b.WriteRune(r - 'a' + 'A')
			upper = false
		default:
			b.WriteRune(r)
			upper = false
		}
	}
	return b.String()
}
