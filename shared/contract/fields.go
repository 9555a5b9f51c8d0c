package contract

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
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

// Validate trims the fields that have the option trim and checks the contract's field rules. In
// trimmed fields it allows no invisible characters. Its fault names every invalid field by its
// JSON path.
func Validate(m proto.Message) error {
	flaws := trim(m.ProtoReflect())
	err := protovalidate.Validate(m)
	if invalid, ok := errors.AsType[*protovalidate.ValidationError](err); ok {
		for _, v := range invalid.Violations {
			flaws = append(flaws, flaw{jsonPath(v.Proto.GetField()), v.Proto.GetMessage()})
		}
	} else if err != nil {
		return err
	}
	if flaws == nil {
		return nil
	}
	f := fault.ErrInvalid
	var said []string
	for _, w := range flaws {
		f = f.On(w.path, w.reason)
		said = append(said, w.path+": "+w.reason)
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

// flaw is what is wrong at a path of JSON names.
type flaw struct{ path, reason string }

// under returns flaws of a message as those of the message whose field it is.
func under(field string, flaws []flaw) []flaw {
	for i, w := range flaws {
		flaws[i].path = strings.TrimSuffix(field+"."+w.path, ".")
	}
	return flaws
}

// trim removes the white space around every field that has the option, at any depth. It returns the
// fields with invisible characters and the filters in which nothing is set. Their paths are put
// together on the way back, because most messages have no flaw. It leaves out lists without rules,
// whose elements the method checks one by one.
func trim(m protoreflect.Message) (flaws []flaw) {
	bare := true
	fields := m.Descriptor().Fields()
	for i := range fields.Len() { // in the order of the contract, so that the same fault has the same words
		f := fields.Get(i)
		if !m.Has(f) {
			continue
		}
		bare = false
		switch v := m.Get(f); {
		case f.Kind() == protoreflect.StringKind && !f.IsList() && trimmed(f):
			text := strings.TrimSpace(v.String())
			m.Set(f, protoreflect.ValueOfString(text))
			if strings.ContainsFunc(text, invisible) {
				flaws = append(flaws, flaw{f.JSONName(), "must hold no invisible characters"})
			}
		case f.Kind() != protoreflect.MessageKind || f.IsMap():
		case f.IsList() && unruled(f):
		case f.IsList():
			for i := range v.List().Len() {
				if found := trim(v.List().Get(i).Message()); found != nil {
					flaws = append(flaws, under(fmt.Sprintf("%s[%d]", f.JSONName(), i), found)...)
				}
			}
		default:
			flaws = append(flaws, under(f.JSONName(), trim(v.Message()))...)
		}
	}
	if bare && filters(m.Descriptor()) {
		flaws = append(flaws, flaw{"", "names no filter"})
	}
	return flaws
}

// invisible reports whether two texts that differ in r only look alike, or r turns the direction
// of the text: two users could have what reads as one name.
func invisible(r rune) bool {
	return r > unicode.MaxASCII &&
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func filters(m protoreflect.MessageDescriptor) bool {
	on, _ := proto.GetExtension(m.Options(), heraldv1.E_Filter).(bool)
	return on
}

func trimmed(f protoreflect.FieldDescriptor) bool {
	on, _ := proto.GetExtension(f.Options(), heraldv1.E_Trim).(bool)
	return on
}

func unruled(f protoreflect.FieldDescriptor) bool {
	rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
	return rules.GetIgnore() == validate.Ignore_IGNORE_ALWAYS
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
