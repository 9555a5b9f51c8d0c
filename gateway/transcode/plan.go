package transcode

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// plan describes how messages of one type are written. It is made from the type's descriptor.
type plan struct {
	fields []field
	// special messages are not written field by field: those of protobuf itself have JSON forms
	// of their own, others may have extensions.
	special bool
}

// field is a field of a plan. In a list or map, kind, names and message are those of one item or
// value.
type field struct {
	protoreflect.FieldDescriptor
	label         string // `,"name":`
	isList, isMap bool
	// optional fields are left out when unset. nullable is set if the value of an unset field is nil. That is faster to
	// check than Has.
	optional, nullable bool
	kind               protoreflect.Kind
	names              map[protoreflect.EnumNumber]string // quoted; nil for NullValue
	message            func() *plan
}

// plans caches plans by the type's descriptor.
var plans sync.Map

func planOf(d protoreflect.MessageDescriptor) *plan {
	if p, ok := plans.Load(d); ok {
		return p.(*plan)
	}
	p := &plan{special: d.ParentFile().Package() == "google.protobuf" || d.ExtensionRanges().Len() > 0}
	for i := range d.Fields().Len() {
		p.fields = append(p.fields, newField(d.Fields().Get(i)))
	}
	plans.Store(d, p)
	return p
}

func newField(d protoreflect.FieldDescriptor) field {
	nullable := d.HasPresence() && d.Message() != nil && d.ContainingOneof() == nil
	value := d
	if d.IsMap() {
		value = d.MapValue()
	}
	f := field{
		FieldDescriptor: d, label: label(d.JSONName()), isList: d.IsList(), isMap: d.IsMap(),
		optional: d.HasPresence() && !nullable, nullable: nullable,
		kind: value.Kind(), names: quoted(value.Enum()),
	}
	if value.Message() != nil { // looked up when it is written: a type may contain itself
		f.message = sync.OnceValue(func() *plan { return planOf(value.Message()) })
	}
	return f
}

func label(name string) string {
	w := writer{out: []byte{','}}
	w.text(name)
	return string(append(w.out, ':'))
}

func quoted(d protoreflect.EnumDescriptor) map[protoreflect.EnumNumber]string {
	if d == nil || d.FullName() == "google.protobuf.NullValue" {
		return nil
	}
	names := map[protoreflect.EnumNumber]string{}
	for i := range d.Values().Len() {
		n := d.Values().Get(i).Number()
		names[n] = `"` + string(d.Values().ByNumber(n).Name()) + `"` // of aliases, the first
	}
	return names
}
