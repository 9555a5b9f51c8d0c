package transcode

import (
	"bytes"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// fits checks one value against the type of a field: a scalar, an enum or one of protobuf's own
// messages.
func fits(f protoreflect.FieldDescriptor, value []byte) *flaw {
	quoted := value[0] == '"'
	switch f.Kind() {
	case protoreflect.StringKind:
		if !quoted {
			return &flaw{reason: "must be a string"}
		}
		return nil
	case protoreflect.BoolKind:
		if value[0] != 't' && value[0] != 'f' {
			return &flaw{reason: "must be true or false"}
		}
		return nil
	case protoreflect.EnumKind:
		if constant(f.Enum(), value) == nil {
			return &flaw{reason: "is not a value of " + string(f.Enum().Name())}
		}
		return nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return parses(f, value, "must be a number")
	case protoreflect.BytesKind:
		return parses(f, value, "must be base64")
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if f.Message().FullName() == "google.protobuf.Value" { // may be any JSON
			return nil
		}
		return parses(f, value, "is not a "+string(f.Message().Name()))
	}
	if bytes.ContainsAny(value, ".eE") { // protojson would read 1e1 as 10
		return &flaw{reason: "must be an integer"}
	}
	return parses(f, value, "must be an integer of its type")
}

// constant returns the value of an enum with a name or number, or nil.
func constant(d protoreflect.EnumDescriptor, value []byte) protoreflect.EnumValueDescriptor {
	if value[0] == '"' {
		return d.Values().ByName(protoreflect.Name(text(value)))
	}
	n, err := strconv.ParseInt(string(value), 10, 32)
	if err != nil {
		return nil
	}
	return d.Values().ByNumber(protoreflect.EnumNumber(n))
}

// parses reports a flaw if protojson cannot parse the value alone.
func parses(f protoreflect.FieldDescriptor, value []byte, reason string) *flaw {
	parent := f.ContainingMessage()
	if parent.IsMapEntry() {
		return nil // it has no Go type; it is parsed with the whole body
	}
	t, err := protoregistry.GlobalTypes.FindMessageByName(parent.FullName())
	if err != nil {
		return &flaw{reason: reason}
	}
	if f.IsList() {
		value = bytes.Join([][]byte{[]byte("["), value, []byte("]")}, nil)
	}
	body := bytes.Join([][]byte{[]byte(`{"` + f.JSONName() + `":`), value, []byte("}")}, nil)
	if lenient.Unmarshal(body, t.New().Interface()) != nil {
		return &flaw{reason: reason}
	}
	return nil
}
