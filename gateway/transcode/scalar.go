package transcode

import (
	"bytes"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/contract"
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
			return &flaw{reason: contract.OneOf(f)}
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
	return parses(f, value, "must be a whole number "+ranges[f.Kind()])
}

const (
	range32, rangeU32 = "from -2147483648 to 2147483647", "from 0 to 4294967295"
	range64, rangeU64 = "from -9223372036854775808 to 9223372036854775807", "from 0 to 18446744073709551615"
)

var ranges = map[protoreflect.Kind]string{
	protoreflect.Int32Kind: range32, protoreflect.Sint32Kind: range32, protoreflect.Sfixed32Kind: range32,
	protoreflect.Uint32Kind: rangeU32, protoreflect.Fixed32Kind: rangeU32,
	protoreflect.Int64Kind: range64, protoreflect.Sint64Kind: range64, protoreflect.Sfixed64Kind: range64,
	protoreflect.Uint64Kind: rangeU64, protoreflect.Fixed64Kind: rangeU64,
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
		return nil // it has no Go type and is parsed with the whole body
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
