package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	heraldv1 "herald/shared/gen/herald/v1"
)

// schemas makes the JSON Schemas of messages and enums, and keeps those to which others refer.
type schemas struct {
	made map[string]object
	// required reports whether a field is always there.
	required func(protoreflect.FieldDescriptor) bool
	// inRequest reports whether a message is part of a request.
	inRequest func(protoreflect.MessageDescriptor) bool
	faults    []Fault
}

// components returns the schemas to which others refer, by name.
func (s *schemas) components() object {
	var all object
	for name, schema := range s.made {
		all = all.with(name, schema)
	}
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.name, b.name) })
	return all
}

// nameOf returns the name of a schema: users.Profile for herald.users.v1.Profile, ObjectDetails for
// herald.v1.ObjectDetails.
func nameOf(d protoreflect.Descriptor) string {
	return strings.TrimPrefix(strings.Replace(strings.TrimPrefix(string(d.FullName()), "herald."), "v1.", "", 1),
		"google.")
}

// ref returns a reference to the schema of a message or an enum.
func (s *schemas) ref(d protoreflect.Descriptor) object {
	name := nameOf(d)
	if _, known := s.made[name]; !known {
		s.made[name] = nil // a message may contain itself
		switch d := d.(type) {
		case protoreflect.MessageDescriptor:
			s.made[name] = s.message(d, nil)
		case protoreflect.EnumDescriptor:
			s.made[name] = enum(d)
		}
	}
	return refer(name)
}

func refer(name string) object { return object{{"$ref", "#/components/schemas/" + name}} }

// message returns the schema of a message without some of its fields.
func (s *schemas) message(m protoreflect.MessageDescriptor, without []string) object {
	var properties object
	required := []string{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if slices.Contains(without, string(f.Name())) {
			continue
		}
		properties = properties.with(f.JSONName(), s.field(f))
		if s.required(f) {
			required = append(required, f.JSONName())
		}
	}
	schema := object{{"type", "object"}}
	if text := comment(m); text != "" {
		schema = schema.with("description", text)
	}
	if filter, _ := proto.GetExtension(m.Options(), heraldv1.E_Filter).(bool); filter {
		schema = schema.with("minProperties", 1)
	}
	if len(required) > 0 {
		schema = schema.with("required", required)
	}
	if len(properties) > 0 {
		schema = schema.with("properties", properties)
	}
	return schema
}

// field returns the schema of a field with its rules.
func (s *schemas) field(f protoreflect.FieldDescriptor) object {
	notes := []string{comment(f)}
	if trimmed, _ := proto.GetExtension(f.Options(), heraldv1.E_Trim).(bool); trimmed {
		notes = append(notes, "White space around it is dropped; control characters and invisible ones are refused.")
	}
	rules := rulesOf(f)
	var schema object
	switch {
	case f.IsMap():
		schema = object{{"type", "object"}, {"additionalProperties", s.value(f.MapValue())}}
	case f.IsList():
		item := s.value(f)
		if rules := rules.GetRepeated().GetItems(); rules != nil {
			item, _ = limit(item, f, rules)
		}
		schema = object{{"type", "array"}, {"items", item}}
	default:
		schema = s.value(f)
	}
	schema, said := limit(schema, f, rules)
	options, _ := f.Options().(*descriptorpb.FieldOptions)
	if options.GetDebugRedact() && s.inRequest(f.ContainingMessage()) {
		schema = append(schema, member{"format", "password"}, member{"writeOnly", true})
	}
	if says, _ := proto.GetExtension(f.Options(), heraldv1.E_Says).(string); says != "" {
		said = append(said, "It "+says+".")
	}
	text := sentences(append(notes, said...)...)
	if text != "" && len(schema) > 0 && schema[0].name == "$ref" { // older drafts ignore everything beside $ref
		schema = object{{"allOf", []object{schema}}}
	}
	if text != "" {
		schema = schema.with("description", text)
	}
	return schema
}

// value returns the schema of one value of a field's type.
func (s *schemas) value(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if known, ok := wellKnown[f.Message().FullName()]; ok {
			return slices.Clone(known)
		}
		return s.ref(f.Message())
	case protoreflect.EnumKind:
		return s.ref(f.Enum())
	}
	schema := slices.Clone(scalars[f.Kind()])
	if strings.HasSuffix(fmt.Sprint(f.Kind()), "64") && s.inRequest(f.ContainingMessage()) {
		schema[0].value = []string{"string", "integer"} // both are accepted
	}
	return schema
}

var scalars = map[protoreflect.Kind]object{
	protoreflect.StringKind:   {{"type", "string"}},
	protoreflect.BoolKind:     {{"type", "boolean"}},
	protoreflect.BytesKind:    {{"type", "string"}, {"contentEncoding", "base64"}},
	protoreflect.DoubleKind:   {{"type", "number"}, {"format", "double"}},
	protoreflect.FloatKind:    {{"type", "number"}, {"format", "float"}},
	protoreflect.Int32Kind:    {{"type", "integer"}, {"format", "int32"}},
	protoreflect.Sint32Kind:   {{"type", "integer"}, {"format", "int32"}},
	protoreflect.Sfixed32Kind: {{"type", "integer"}, {"format", "int32"}},
	protoreflect.Uint32Kind:   {{"type", "integer"}, {"format", "uint32"}, {"minimum", 0}},
	protoreflect.Fixed32Kind:  {{"type", "integer"}, {"format", "uint32"}, {"minimum", 0}},
	protoreflect.Int64Kind:    {{"type", "string"}, {"format", "int64"}},
	protoreflect.Sint64Kind:   {{"type", "string"}, {"format", "int64"}},
	protoreflect.Sfixed64Kind: {{"type", "string"}, {"format", "int64"}},
	protoreflect.Uint64Kind:   {{"type", "string"}, {"format", "uint64"}},
	protoreflect.Fixed64Kind:  {{"type", "string"}, {"format", "uint64"}},
}

// wellKnown are the schemas of protobuf's own messages, by their JSON mapping.
var wellKnown = map[protoreflect.FullName]object{
	"google.protobuf.Timestamp": {{"type", "string"}, {"format", "date-time"}},
	"google.protobuf.Duration": {{"type", "string"}, {"pattern", `^-?[0-9]+(\.[0-9]{1,9})?s$`},
		{"examples", []string{"3600s"}}},
	"google.protobuf.Struct":    {{"type", "object"}},
	"google.protobuf.Value":     {},
	"google.protobuf.ListValue": {{"type", "array"}, {"items", object{}}},
	"google.protobuf.Empty":     {{"type", "object"}},
	"google.protobuf.Any": {{"type", "object"}, {"required", []string{"@type"}},
		{"properties", object{{"@type", object{{"type", "string"}}}}}},
}

func enum(d protoreflect.EnumDescriptor) object {
	var names []string
	var meanings object
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		names = append(names, string(v.Name()))
		if text := comment(v); text != "" {
			meanings = meanings.with(string(v.Name()), text)
		}
	}
	schema := object{{"type", "string"}, {"enum", names}}
	if text := comment(d); text != "" {
		schema = schema.with("description", text)
	}
	if meanings != nil {
		schema = schema.with("x-enumDescriptions", meanings)
	}
	return schema
}

// keywords are the rules for which JSON Schema has a keyword.
var keywords = map[string]string{
	"string.min_len": "minLength", "string.max_len": "maxLength", "string.pattern": "pattern", "string.in": "enum",
	"repeated.min_items": "minItems", "repeated.max_items": "maxItems", "repeated.unique": "uniqueItems",
	"map.min_pairs": "minProperties", "map.max_pairs": "maxProperties",
	"int32.gte": "minimum", "int32.lte": "maximum", "int32.gt": "exclusiveMinimum", "int32.lt": "exclusiveMaximum",
	"uint32.gte": "minimum", "uint32.lte": "maximum", "uint32.gt": "exclusiveMinimum", "uint32.lt": "exclusiveMaximum",
}

// quiet are rules that need no sentence, because the schema or another rule says the same.
var quiet = []string{"enum.defined_only", "repeated.items"}

// limit adds a field's rules to a schema, as keywords if there are any, else as sentences.
func limit(schema object, f protoreflect.FieldDescriptor, rules *validate.FieldRules) (object, []string) {
	var said []string
	eachRule(rules, func(name string, v protoreflect.Value, d protoreflect.FieldDescriptor) {
		keyword, known := keywords[name]
		switch {
		case known && d.IsList():
			var list []any
			for i := range v.List().Len() {
				list = append(list, v.List().Get(i).Interface())
			}
			schema = schema.with(keyword, list)
		case known:
			schema = schema.with(keyword, v.Interface())
		case slices.Contains(quiet, name):
		case name == "string.max_bytes" || name == "bytes.max_len":
			said = append(said, fmt.Sprintf("At most %d bytes.", v.Uint()))
		case name == "duration.gte" || name == "duration.lte":
			word := map[string]string{"duration.gte": "least", "duration.lte": "most"}[name]
			said = append(said, fmt.Sprintf("At %s %ds.", word, v.Message().Interface().(*durationpb.Duration).Seconds))
		case name == "string.not_in":
			said = append(said, "Not one of "+strings.Join(rules.GetString().GetNotIn(), ", ")+".")
		case name == "enum.not_in":
			for i := range v.List().Len() {
				number := protoreflect.EnumNumber(v.List().Get(i).Int())
				said = append(said, fmt.Sprintf("Not %s.", f.Enum().Values().ByNumber(number).Name()))
			}
		default:
			said = append(said, fmt.Sprintf("Rule: %s %v.", name, v))
		}
	})
	return schema, said
}

// eachRule calls visit for the rules of a field's type, in the order of their numbers.
func eachRule(rules *validate.FieldRules, visit func(string, protoreflect.Value, protoreflect.FieldDescriptor)) {
	if rules == nil || rules.Type == nil {
		return
	}
	outer := rules.ProtoReflect()
	kind := outer.WhichOneof(outer.Descriptor().Oneofs().ByName("type"))
	inner := outer.Get(kind).Message()
	for i := range inner.Descriptor().Fields().Len() {
		if d := inner.Descriptor().Fields().Get(i); inner.Has(d) {
			visit(string(kind.Name())+"."+string(d.Name()), inner.Get(d), d)
		}
	}
}

// demanded reports whether requests without the field are refused.
func demanded(f protoreflect.FieldDescriptor) bool {
	rules := rulesOf(f)
	switch {
	case rules.GetRequired():
		return true
	case rules.GetIgnore() != validate.Ignore_IGNORE_UNSPECIFIED || f.HasPresence():
		return false
	case f.IsList():
		return rules.GetRepeated().GetMinItems() > 0
	case f.Kind() == protoreflect.EnumKind:
		return slices.Contains(rules.GetEnum().GetNotIn(), 0)
	}
	text := rules.GetString()
	return text.GetMinLen() > 0 || text.GetPattern() != "" && !regexp.MustCompile(text.GetPattern()).MatchString("")
}

// reachable returns the roots and all messages that they contain, at any depth.
func reachable(roots []protoreflect.MessageDescriptor) map[protoreflect.FullName]bool {
	seen := map[protoreflect.FullName]bool{}
	for len(roots) > 0 {
		m := roots[0]
		roots = roots[1:]
		if seen[m.FullName()] {
			continue
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			if inner := m.Fields().Get(i).Message(); inner != nil {
				roots = append(roots, inner)
			}
		}
	}
	return seen
}

func sentences(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}
