package contract

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// MaxIDLength is the largest length of an id in runes. No longer id exists.
const MaxIDLength = 200

// Validate removes the white space around fields that have the option trim. Then it checks the field rules of the
// contract. Its fault names at most 20 invalid fields by their JSON paths. The lengths of lists are checked first, so
// that the elements of a list that is too long are never read.
func Validate(m proto.Message) error {
	flaws, enough := trim(m.ProtoReflect())
	if !enough {
		err := protovalidate.Validate(m)
		if invalid, ok := errors.AsType[*protovalidate.ValidationError](err); ok {
			for _, v := range invalid.Violations {
				flaws = append(flaws, fault.Field{
					Path: jsonPath(v.Proto.GetField()), Reason: reason(m.ProtoReflect().Descriptor(), v),
				})
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

// Check checks the ids in the path, and then the request with Validate. For an id that cannot exist it returns
// fault.ErrNotFound, so that the id never reaches a database. A REST path always has its ids. Over the other protocols
// an id can be missing, and then the fault names its field.
func (m Method) Check(request proto.Message) error {
	var missing []fault.Field
	for _, f := range m.ids {
		v := request.ProtoReflect().Get(f).String()
		if utf8.RuneCountInString(v) > MaxIDLength || strings.ContainsRune(v, 0) {
			return fault.ErrNotFound
		}
		if v == "" && m.names(f) {
			missing = append(missing, fault.Field{Path: f.JSONName(), Reason: "must not be empty"})
		}
	}
	if missing != nil {
		return fault.ErrInvalidArgument.Naming(missing...)
	}
	return Validate(request)
}

// names reports whether a field is the id of an object that every REST path of the method names.
func (m Method) names(f protoreflect.FieldDescriptor) bool {
	if f.Name() != "id" && !strings.HasSuffix(string(f.Name()), "_id") {
		return false // such as the key of a role, whose fault says more
	}
	return !slices.ContainsFunc(m.Rules, func(rule *annotations.HttpRule) bool {
		_, path, _ := Route(rule)
		return !slices.Contains(PathFields(path), string(f.Name()))
	})
}

// under adds the name of a field to the paths of the flaws that were found inside it.
func under(field string, flaws []fault.Field) []fault.Field {
	for i, w := range flaws {
		flaws[i].Path = strings.TrimSuffix(field+"."+w.Path, ".")
	}
	return flaws
}

// shape holds what trim must know about a message type.
type shape struct {
	filter bool
	texts  []protoreflect.FieldDescriptor // with the option trim
	lists  []list
	inner  []protoreflect.FieldDescriptor // messages
}

// list is a list field with its largest number of elements, and with the flaw that is reported for a longer list.
type list struct {
	protoreflect.FieldDescriptor
	most int
	flaw fault.Field
}

// shapes returns the shapes of all messages that the program knows. They are computed once, because options are slow
// to read.
var shapes = sync.OnceValue(func() map[protoreflect.MessageDescriptor]*shape {
	all := map[protoreflect.MessageDescriptor]*shape{}
	protoregistry.GlobalTypes.RangeMessages(func(m protoreflect.MessageType) bool {
		all[m.Descriptor()] = shapeOf(m.Descriptor())
		return true
	})
	return all
})

// shapeOf returns the shape of a message type. It keeps the order of the contract, so that the same request always
// gets the same message.
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

// trim removes the white space around every field that has the option trim, at any depth. It returns flaws: texts
// with invisible characters, lists that are too long, and filters without any field. enough is true if a list is too
// long or if there are many flaws. Then the caller need not look for more. Paths are built only for flaws, on the way
// back, because most messages have no flaw.
func trim(m protoreflect.Message) (flaws []fault.Field, enough bool) {
	s := shapes()[m.Descriptor()]
	for _, f := range s.texts {
		if !m.Has(f) {
			continue
		}
		text := strings.TrimSpace(m.Get(f).String())
		m.Set(f, protoreflect.ValueOfString(text))
		if Seen(text) != text {
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

// Seen returns a text without control characters, invisible characters, and characters that change the direction of
// the text. With such characters two users could have names that look the same. A joiner stays between letters of a
// script that needs it.
func Seen(text string) string {
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	runes, seen := []rune(text), make([]rune, 0, len(text))
	for i, r := range runes {
		if !unseen(r) || joins(runes, i) {
			seen = append(seen, r)
		}
	}
	return string(seen)
}

func unseen(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == '\x7f'
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// joined are scripts in which a zero-width joiner or non-joiner shows how the letters beside it are written (Unicode
// Standard Annex 31, 2.3).
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Bengali, unicode.Devanagari, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada,
	unicode.Khmer, unicode.Malayalam, unicode.Mongolian, unicode.Oriya, unicode.Sinhala, unicode.Syriac, unicode.Tamil,
	unicode.Telugu,
}

// joins reports whether the character at an index is a joiner or non-joiner that its script needs.
func joins(text []rune, at int) bool {
	if r := text[at]; r != '\u200c' && r != '\u200d' || at == 0 || at == len(text)-1 {
		return false
	}
	before, after := text[at-1], text[at+1]
	return !unseen(before) && unicode.In(before, unicode.L, unicode.M) && unicode.In(before, joined...) &&
		unicode.IsLetter(after) && unicode.In(after, joined...)
}

func filters(m protoreflect.MessageDescriptor) bool {
	on, _ := proto.GetExtension(m.Options(), heraldv1.E_Filter).(bool)
	return on
}

// ignored reports whether protovalidate ignores a field. The code that reads such a field checks it.
func ignored(f protoreflect.FieldDescriptor) bool {
	return rulesOf(f).GetIgnore() == validate.Ignore_IGNORE_ALWAYS
}

func trimmed(f protoreflect.FieldDescriptor) bool {
	on, _ := proto.GetExtension(f.Options(), heraldv1.E_Trim).(bool)
	return on
}

// jsonPath returns a path in the form of the REST API: queries[0].nameQuery.name.
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
