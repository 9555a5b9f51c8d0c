package main

import (
	"encoding/json"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// exampleID is the id of every object in the examples.
const exampleID = "01a1fd55-e584-7cfb-947e-87d18b6d50c1"

// exampleEvent and exampleOrg are the ids of an event and of an organization in the examples.
const (
	exampleEvent = "01a1fd55-e5e8-7a07-8d4c-3c1a2b7e9f10"
	exampleOrg   = "01a1fd55-e520-7b11-9a63-5d2f4c8e7a21"
)

// exampleTexts are texts by the name of their field. Others have exampleID if they are ids, and a word if not.
var exampleTexts = map[string]string{
	"user_name": "mini", "first_name": "Mini", "last_name": "Mouse", "display_name": "Mini Mouse",
	"phone": "+41791234567", "email": "mini@example.com", "preferred_language": "de", "language": "de",
	"languages": "de", "primary_color": "#0b6e4f", "primary_domain": "shop.example.com", "name": "Shop",
	"redirect_uris": "https://shop.example.com/callback", "scopes": "openid", "roles": "ORG_OWNER", "key": "clerk",
	"url": "otpauth://totp/Herald:mini?secret=GEZDGNBVGY3TQOJQ", "secret": "GEZDGNBVGY3TQOJQ", "state": "state",
}

// exampleOf returns an example of a message: every field once, but only the first of a oneof. It leaves out a message
// inside itself.
func exampleOf(m protoreflect.MessageDescriptor, above ...protoreflect.FullName) object {
	example := object{}
	above = append(slices.Clip(above), m.FullName())
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		inner := f.Message()
		if f.IsMap() {
			inner = f.MapValue().Message()
		}
		if one := f.ContainingOneof(); one != nil && one.Fields().Get(0) != f ||
			inner != nil && slices.Contains(above, inner.FullName()) || ignores(f) {
			continue
		}
		switch value := exampleValue(f, above); {
		case f.IsMap():
			example = example.with(f.JSONName(), object{{"key", exampleValue(f.MapValue(), above)}})
		case f.IsList():
			example = example.with(f.JSONName(), []any{value})
		default:
			example = example.with(f.JSONName(), value)
		}
	}
	return example
}

// ignores reports whether the code and not the contract checks a field.
func ignores(f protoreflect.FieldDescriptor) bool {
	return rulesOf(f).GetIgnore() == validate.Ignore_IGNORE_ALWAYS
}

func rulesOf(f protoreflect.FieldDescriptor) *validate.FieldRules {
	rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
	return rules
}

// exampleWellKnown are examples of protobuf's own messages.
var exampleWellKnown = map[protoreflect.FullName]any{
	"google.protobuf.Timestamp": "2026-11-26T09:30:00.904473Z", "google.protobuf.Duration": "5s",
	"google.protobuf.Struct": object{{"changed", []string{"name"}}}, "google.protobuf.Value": "Shop",
	"google.protobuf.ListValue": []any{"Shop"}, "google.protobuf.Empty": object{},
	"google.protobuf.Any": object{{"@type", "type.googleapis.com/herald.v1.ErrorDetail"}},
}

// exampleValue returns an example of one value of a field.
func exampleValue(f protoreflect.FieldDescriptor, above []protoreflect.FullName) any {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if known, ok := exampleWellKnown[f.Message().FullName()]; ok {
			return known
		}
		return exampleOf(f.Message(), above...)
	case protoreflect.EnumKind:
		values := f.Enum().Values() // the first one is often that for nothing
		return string(values.Get(min(1, values.Len()-1)).Name())
	case protoreflect.BoolKind:
		return true
	case protoreflect.StringKind:
		return exampleText(f)
	case protoreflect.BytesKind:
		return "Z29sZA=="
	}
	if strings.HasSuffix(f.Kind().String(), "64") {
		return "7"
	}
	return 1
}

func exampleText(f protoreflect.FieldDescriptor) string {
	name := string(f.Name())
	if text, ok := exampleTexts[name]; ok {
		return text
	}
	if name == "id" || strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids") || name == "ids" ||
		name == "resource_owner" || name == "cause" {
		return exampleID
	}
	return strings.ReplaceAll(strings.TrimSuffix(name, "s"), "_", " ")
}

// exampleBody returns the body of the operation's command (sample), with an id in place of each variable.
func exampleBody(o Operation) object {
	fields := object{}
	for _, f := range bodyFields(o) {
		literal := f.value.(string)
		if strings.HasPrefix(literal, `"'$`) {
			literal = `"` + exampleID + `"`
		}
		fields = fields.with(f.name, json.RawMessage(literal))
	}
	return fields
}
