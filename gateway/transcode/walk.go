package transcode

import (
	"bytes"
	"encoding/json"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// walk checks valid JSON against a message's descriptor and reads it into the message, in one pass.
type walk struct {
	rest  []byte
	depth int
	// partial reports whether the JSON has something that only protojson reads. The message must then not be used.
	partial bool
}

// slot is where a value is stored: a field of a message, or the end of a list. A value in the zero slot is only
// checked.
type slot struct {
	message protoreflect.Message
	list    protoreflect.List
}

// message reads an object into a message, or only checks it if the message is nil.
func (w *walk) message(d protoreflect.MessageDescriptor, m protoreflect.Message) *flaw {
	if w.next() != '{' {
		return &flaw{reason: "must be an object"}
	}
	w.partial = w.partial || d.ExtensionRanges().Len() > 0 || d.RequiredNumbers().Len() > 0
	return w.object(slot{message: m}, func(key string) (string, protoreflect.FieldDescriptor) {
		if f := named(d, key); f != nil {
			return f.JSONName(), f
		}
		return key, nil
	})
}

func named(d protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	if f := d.Fields().ByJSONName(name); f != nil {
		return f
	}
	return d.Fields().ByTextName(name)
}

// object checks an object. what returns the canonical name of a key and its field. A key is given twice if its
// canonical name is. A nil field accepts any value.
func (w *walk) object(in slot, what func(key string) (string, protoreflect.FieldDescriptor)) *flaw {
	seen := map[string]bool{}
	return w.nested(func() *flaw {
		name, f := what(text(w.token()))
		w.separator()
		declared := f != nil && !f.ContainingMessage().IsMapEntry()
		switch {
		case seen[name] && declared:
			return &flaw{name, "is given twice"}
		case seen[name]:
			return &flaw{reason: "has a name twice"}
		}
		seen[name] = true
		flaw := w.field(f, in)
		if declared {
			return flaw.under(name)
		}
		return flaw
	})
}

// nested calls item for each item between the brackets.
func (w *walk) nested(item func() *flaw) *flaw {
	if w.depth++; w.depth > MaxDepth {
		return &flaw{reason: "is nested too deeply"}
	}
	defer func() { w.depth-- }()
	w.rest = w.rest[1:]
	for first := true; w.next() != '}' && w.rest[0] != ']'; first = false {
		if !first {
			w.separator()
		}
		if flaw := item(); flaw != nil {
			return flaw
		}
	}
	w.rest = w.rest[1:]
	return nil
}

// field checks a field's whole value; null leaves the field unset.
func (w *walk) field(f protoreflect.FieldDescriptor, in slot) *flaw {
	c := w.next()
	if f == nil {
		return w.anything()
	}
	w.partial = w.partial || f.IsMap() || f.ContainingOneof() != nil
	switch {
	case c == 'n':
		w.partial = w.partial || own(f) // null is a google.protobuf.Value
		w.token()
		return nil
	case f.IsMap() && c != '{':
		return &flaw{reason: "must be an object"}
	case f.IsMap():
		return w.object(slot{}, func(key string) (string, protoreflect.FieldDescriptor) { return key, f.MapValue() })
	case f.IsList() && c != '[':
		return &flaw{reason: "must be a list"}
	case f.IsList():
		if in.message != nil {
			in.list = in.message.Mutable(f).List()
		}
		i := -1
		return w.nested(func() *flaw {
			i++
			if flaw := w.single(f, in); flaw != nil {
				return flaw.under("[" + strconv.Itoa(i) + "]")
			}
			return nil
		})
	}
	return w.single(f, in)
}

func (w *walk) single(f protoreflect.FieldDescriptor, in slot) *flaw {
	if f.Message() != nil && !own(f) {
		return w.message(f.Message(), in.nested(f))
	}
	w.next()
	start := w.rest
	if flaw := w.anything(); flaw != nil {
		return flaw
	}
	value := start[:len(start)-len(w.rest)]
	if flaw := fits(f, value); flaw != nil {
		return flaw
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		in.put(f, protoreflect.ValueOfString(text(value)))
	case protoreflect.BoolKind:
		in.put(f, protoreflect.ValueOfBool(value[0] == 't'))
	case protoreflect.EnumKind:
		in.put(f, protoreflect.ValueOfEnum(constant(f.Enum(), value).Number()))
	default:
		w.partial = true
	}
	return nil
}

// own reports whether a field has a type of protobuf itself, which has a JSON form of its own.
func own(f protoreflect.FieldDescriptor) bool {
	switch {
	case f.Message() != nil:
		return f.Message().ParentFile().Package() == "google.protobuf"
	case f.Enum() != nil:
		return f.Enum().ParentFile().Package() == "google.protobuf"
	}
	return false
}

func (s slot) nested(f protoreflect.FieldDescriptor) protoreflect.Message {
	switch {
	case s.list != nil:
		return s.list.AppendMutable().Message()
	case s.message != nil:
		return s.message.Mutable(f).Message()
	}
	return nil
}

func (s slot) put(f protoreflect.FieldDescriptor, v protoreflect.Value) {
	switch {
	case s.list != nil:
		s.list.Append(v)
	case s.message != nil:
		s.message.Set(f, v)
	}
}

// anything reads a value of any type.
func (w *walk) anything() *flaw {
	switch w.next() {
	case '{':
		return w.object(slot{}, func(key string) (string, protoreflect.FieldDescriptor) { return key, nil })
	case '[':
		return w.nested(w.anything)
	}
	w.token()
	return nil
}

// next skips white space and returns the byte that follows it.
func (w *walk) next() byte {
	w.rest = bytes.TrimLeft(w.rest, " \t\r\n")
	return w.rest[0]
}

// separator skips a colon or comma and the white space around it.
func (w *walk) separator() {
	w.next()
	w.rest = w.rest[1:]
	w.next()
}

// token returns the next string, number or word.
func (w *walk) token() []byte {
	i := 1
	if w.rest[0] == '"' {
		for ; w.rest[i] != '"'; i++ {
			if w.rest[i] == '\\' {
				i++
			}
		}
		i++
	} else if i = bytes.IndexAny(w.rest, ",]} \t\r\n"); i < 0 {
		i = len(w.rest)
	}
	token := w.rest[:i]
	w.rest = w.rest[i:]
	return token
}

// text returns the string that a JSON string token stands for.
func text(token []byte) string {
	if bytes.IndexByte(token, '\\') < 0 {
		return string(token[1 : len(token)-1])
	}
	var s string
	_ = json.Unmarshal(token, &s) // cannot fail: the whole body is valid JSON
	return s
}
