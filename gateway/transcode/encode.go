package transcode

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Encode appends m to b as JSON without white space. As protojson does, it writes default values
// of scalars, enums, lists and maps, and leaves out unset messages, optional fields and members
// of oneofs. m must come from proto.Unmarshal, which bounds its depth and refuses missing
// required fields. On an error Encode returns nil.
func Encode(b []byte, m proto.Message) ([]byte, error) {
	w := writer{out: b}
	w.message(planOf(m.ProtoReflect().Descriptor()), m.ProtoReflect())
	if w.err != nil {
		return nil, w.err
	}
	return w.out, nil
}

// writer appends to out. err is the first error; after it out is not valid.
type writer struct {
	out []byte
	err error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) message(p *plan, m protoreflect.Message) {
	if p.special {
		w.special(m.Interface())
		return
	}
	start := len(w.out)
	for i := range p.fields {
		f := &p.fields[i]
		if f.optional && !m.Has(f.FieldDescriptor) {
			continue
		}
		v := m.Get(f.FieldDescriptor)
		if f.nullable && !v.Message().IsValid() {
			continue
		}
		w.out = append(w.out, f.label...)
		w.field(f, v)
	}
	w.enclose(start, "{}")
}

// enclose puts brackets around the bytes since start. The opening one replaces a leading comma.
func (w *writer) enclose(start int, brackets string) {
	if len(w.out) == start {
		w.out = append(w.out, ',')
	}
	w.out[start] = brackets[0]
	w.out = append(w.out, brackets[1])
}

func (w *writer) field(f *field, v protoreflect.Value) {
	switch {
	case f.isList:
		w.list(f, v.List())
	case f.isMap:
		w.entries(f, v.Map())
	default:
		w.value(f, v)
	}
}

func (w *writer) list(f *field, items protoreflect.List) {
	start := len(w.out)
	for i := range items.Len() {
		w.out = append(w.out, ',')
		w.value(f, items.Get(i))
	}
	w.enclose(start, "[]")
}

// entries writes a map sorted by the texts of its keys, so that equal maps give equal JSON.
func (w *writer) entries(f *field, entries protoreflect.Map) {
	keys := make([]protoreflect.MapKey, 0, entries.Len())
	entries.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	start := len(w.out)
	for _, k := range keys {
		w.out = append(w.out, ',')
		w.text(k.String())
		w.out = append(w.out, ':')
		w.value(f, entries.Get(k))
	}
	w.enclose(start, "{}")
}

func (w *writer) value(f *field, v protoreflect.Value) {
	switch f.kind {
	case protoreflect.BoolKind:
		w.out = strconv.AppendBool(w.out, v.Bool())
	case protoreflect.StringKind:
		w.text(v.String())
	case protoreflect.EnumKind:
		w.enum(f, v.Enum())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		w.message(f.message(), v.Message())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		w.out = strconv.AppendInt(w.out, v.Int(), 10)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		w.out = strconv.AppendUint(w.out, v.Uint(), 10)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		w.out = append(strconv.AppendInt(append(w.out, '"'), v.Int(), 10), '"')
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		w.out = append(strconv.AppendUint(append(w.out, '"'), v.Uint(), 10), '"')
	case protoreflect.BytesKind:
		w.out = append(base64.StdEncoding.AppendEncode(append(w.out, '"'), v.Bytes()), '"')
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		w.float(v)
	}
}

func (w *writer) enum(f *field, n protoreflect.EnumNumber) {
	if f.names == nil {
		w.out = append(w.out, "null"...)
	} else if name, ok := f.names[n]; ok {
		w.out = append(w.out, name...)
	} else {
		w.out = strconv.AppendInt(w.out, int64(n), 10)
	}
}
