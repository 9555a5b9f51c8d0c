package transcode

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// plan is how the messages of one type are written, told by its description.
type plan struct {
	fields []field
	// special messages are not written field by field: those of protobuf itself, which
	// have forms of their own, and those that may hold more fields than they declare.
	special bool
}

// field is a field of a plan. kind, names and message are those of one value, also of
// a list's items and a map's values.
type field struct {
	protoreflect.FieldDescriptor
	label         string // `,"name":`
	isList, isMap bool
	// optional fields tell unset from default; nullable ones do so by their value,
	// which is cheaper than to ask first.
	optional, nullable bool
	kind               protoreflect.Kind
	names              map[protoreflect.EnumNumber]string // quoted; nil for NullValue
	message            func() *plan
}

// plans holds one for each type of the contracts.
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
	if value.Message() != nil { // not yet: types contain themselves
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
		names[n] = `"` + string(d.Values().ByNumber(n).Name()) + `"` // the first of aliases
	}
	return names
}
