package transcode

import (
	"bytes"
	"encoding/json"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// walk checks valid JSON against a message's descriptor, in one pass.
type walk struct {
	rest  []byte
	depth int
}

func (w *walk) message(d protoreflect.MessageDescriptor) *flaw {
	if w.next() != '{' {
		return &flaw{reason: "must be an object"}
	}
	return w.object(func(key string) (string, protoreflect.FieldDescriptor) {
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

// object checks an object. what returns for a key its canonical name, by which keys that occur
// twice are found, and its field; a nil field accepts any value.
func (w *walk) object(what func(key string) (string, protoreflect.FieldDescriptor)) *flaw {
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
		flaw := w.field(f)
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
func (w *walk) field(f protoreflect.FieldDescriptor) *flaw {
	switch c := w.next(); {
	case f == nil:
		return w.anything()
	case c == 'n':
		w.token()
		return nil
	case f.IsMap() && c != '{':
		return &flaw{reason: "must be an object"}
	case f.IsMap():
		return w.object(func(key string) (string, protoreflect.FieldDescriptor) { return key, f.MapValue() })
	case f.IsList() && c != '[':
		return &flaw{reason: "must be a list"}
	case f.IsList():
		i := -1
		return w.nested(func() *flaw {
			i++
			return w.single(f).under("[" + strconv.Itoa(i) + "]")
		})
	}
	return w.single(f)
}

func (w *walk) single(f protoreflect.FieldDescriptor) *flaw {
	d := f.Message()
	if d != nil && d.ParentFile().Package() != "google.protobuf" {
		return w.message(d)
	}
	w.next()
	start := w.rest
	if flaw := w.anything(); flaw != nil {
		return flaw
	}
	return fits(f, start[:len(start)-len(w.rest)])
}

// anything reads a value of any type.
func (w *walk) anything() *flaw {
	switch w.next() {
	case '{':
		return w.object(func(key string) (string, protoreflect.FieldDescriptor) { return key, nil })
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
