package contract

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// MaxIDLength is the length in runes beyond which no id can exist.
const MaxIDLength = 200

// Validate removes the white space around fields that have the option trim, then checks the
// contract's field rules. Its fault names the invalid fields by their JSON paths, at most 20 of
// them. The lengths of lists come first: nothing reads the elements of a list that is too long.
func Validate(m proto.Message) error {
	flaws, enough := trim(m.ProtoReflect())
	if !enough {
		err := protovalidate.Validate(m)
		if invalid, ok := errors.AsType[*protovalidate.ValidationError](err); ok {
			for _, v := range invalid.Violations {
				flaws = append(flaws, fault.Field{Path: jsonPath(v.Proto.GetField()), Reason: reason(v)})
			}
		} else if err != nil {
			return err
		}
	}
	if len(flaws) == 0 {
		return nil
	}
	return fault.ErrInvalidArgument.Naming(flaws...)
}

// Check checks the ids of the path, then the request with Validate. An id that cannot exist
// never reaches a database.
func (m Method) Check(request proto.Message) error {
	for _, f := range m.ids {
		v := request.ProtoReflect().Get(f).String()
		if utf8.RuneCountInString(v) > MaxIDLength || strings.ContainsRune(v, 0) {
			return fault.ErrNotFound
		}
	}
	return Validate(request)
}

// under returns flaws of a message as those of the message whose field it is.
func under(field string, flaws []fault.Field) []fault.Field {
	for i, w := range flaws {
		flaws[i].Path = strings.TrimSuffix(field+"."+w.Path, ".")
	}
	return flaws
}

// shape is what trim needs to know of a message type.
type shape struct {
	filter bool
	texts  []protoreflect.FieldDescriptor // with the option trim
	lists  []list
	inner  []protoreflect.FieldDescriptor // messages
}

// list is a list with the most elements that it may have, and with the flaw of a longer one.
type list struct {
	protoreflect.FieldDescriptor
	most int
	flaw fault.Field
}

// shapes returns the shapes of all messages that the program knows: options are slow to read.
var shapes = sync.OnceValue(func() map[protoreflect.MessageDescriptor]*shape {
	all := map[protoreflect.MessageDescriptor]*shape{}
	protoregistry.GlobalTypes.RangeMessages(func(m protoreflect.MessageType) bool {
		all[m.Descriptor()] = shapeOf(m.Descriptor())
		return true
	})
	return all
})

// shapeOf keeps the order of the contract, so that the same fault has the same words.
func shapeOf(m protoreflect.MessageDescriptor) *shape {
	s := &shape{filter: filters(m)}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		switch {
		case f.IsMap() || ignored(f):
		case f.IsList():
			l := list{FieldDescriptor: f, most: math.MaxInt}
			if rules := rulesOf(f).GetRepeated(); rules.GetMaxItems() > 0 {
				l.most = int(rules.GetMaxItems())
				l.flaw.Path = f.JSONName()
				l.flaw.Reason = between(rules.GetMinItems(), rules.GetMaxItems(), "elements")
			}
			s.lists = append(s.lists, l)
		case f.Kind() == protoreflect.MessageKind:
			s.inner = append(s.inner, f)
		case f.Kind() == protoreflect.StringKind && trimmed(f):
			s.texts = append(s.texts, f)
		}
	}
	return s
}

// trim removes the white space around every field that has the option, at any depth. It returns the
// fields with characters that nobody sees, the lists that are too long and the filters in which
// nothing is set. It reports that this is enough, and nobody need look for further flaws, where a list
// is too long or the flaws are many. Paths are put together on the way back, because most messages
// have no flaw.
func trim(m protoreflect.Message) (flaws []fault.Field, enough bool) {
	s := shapes()[m.Descriptor()]
	for _, f := range s.texts {
		if !m.Has(f) {
			continue
		}
		text := strings.TrimSpace(m.Get(f).String())
		m.Set(f, protoreflect.ValueOfString(text))
		if strings.ContainsFunc(text, unseen) {
			flaws = append(flaws, fault.Field{
				Path: f.JSONName(), Reason: "must hold no invisible or control characters",
			})
		}
	}
	for _, f := range s.inner {
		if m.Has(f) {
			found, many := trim(m.Get(f).Message())
			flaws, enough = append(flaws, under(f.JSONName(), found)...), enough || many
		}
	}
	for _, l := range s.lists {
		found, many := l.trim(m.Get(l.FieldDescriptor).List())
		flaws, enough = append(flaws, found...), enough || many
	}
	if s.filter && empty(m) {
		flaws = append(flaws, fault.Field{Reason: "names no filter"})
	}
	return flaws, enough || len(flaws) > fault.MaxFields
}

func (l list) trim(elements protoreflect.List) (flaws []fault.Field, enough bool) {
	if elements.Len() > l.most {
		return []fault.Field{l.flaw}, true
	}
	if l.Kind() != protoreflect.MessageKind {
		return nil, false
	}
	for i := range elements.Len() {
		found, many := trim(elements.Get(i).Message())
		if found != nil {
			flaws = append(flaws, under(fmt.Sprintf("%s[%d]", l.JSONName(), i), found)...)
		}
		if many || len(flaws) > fault.MaxFields {
			return flaws, true
		}
	}
	return flaws, false
}

// empty reports whether no field of a message is set.
func empty(m protoreflect.Message) bool {
	none := true
	m.Range(func(protoreflect.FieldDescriptor, protoreflect.Value) bool {
		none = false
		return false
	})
	return none
}

// unseen reports whether r is a control character, or two texts that differ in r only look alike, or r
// turns the direction of the text: two users could have what reads as one name.
func unseen(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == '\x7f'
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func filters(m protoreflect.MessageDescriptor) bool {
	on, _ := proto.GetExtension(m.Options(), heraldv1.E_Filter).(bool)
	return on
}

// ignored reports whether protovalidate leaves a field alone: whoever reads it checks it.
func ignored(f protoreflect.FieldDescriptor) bool {
	return rulesOf(f).GetIgnore() == validate.Ignore_IGNORE_ALWAYS
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
