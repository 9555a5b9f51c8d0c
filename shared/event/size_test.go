package event_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"

	"herald/shared/event"
	_ "herald/shared/gen/herald/idp/v1" // their events are measured, as are those of users
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

func TestNewRefusesLargeData(t *testing.T) {
	t.Parallel()
	fits, origin := event.MaxData-len(`{"userId":""}`), event.Origin{AggregateID: "a"}
	if _, err := event.New(&usersv1.MemberRemoved{UserId: strings.Repeat("x", fits)}, origin); err != nil {
		t.Error(err)
	}
	_, err := event.New(&usersv1.MemberRemoved{UserId: strings.Repeat("x", fits+1)}, origin)
	if err == nil || !strings.Contains(err.Error(), "8193 bytes of data, more than 8192: write one event per object") {
		t.Errorf("too large: %v", err)
	}
}

// The largest event that each contract allows fits.
func TestEventsFit(t *testing.T) {
	t.Parallel()
	seen := 0
	protoregistry.GlobalTypes.RangeMessages(func(m protoreflect.MessageType) bool {
		e, _ := proto.GetExtension(m.Descriptor().Options(), heraldv1.E_Event).(*heraldv1.Event)
		if e == nil {
			return true
		}
		seen++
		largest := m.New()
		for i := range m.Descriptor().Fields().Len() {
			fill(t, largest, m.Descriptor().Fields().Get(i))
		}
		data, err := protojson.Marshal(largest.Interface())
		if err != nil || len(data) > event.MaxData {
			t.Errorf("%s has up to %d bytes, %v: bound its fields, or write an event for each object",
				m.Descriptor().FullName(), len(data), err)
		}
		return true
	})
	if seen < 40 {
		t.Errorf("only %d events were seen", seen)
	}
}

// idLength is how many signs an id or a name has at most.
const idLength = 200

// fill sets a field to the longest value that it can have. A sign from outside takes up to
// six bytes in JSON, one of a name of ours a single one.
func fill(t *testing.T, m protoreflect.Message, f protoreflect.FieldDescriptor) {
	t.Helper()
	name := f.FullName()
	if f.IsList() && f.Kind() == protoreflect.StringKind {
		rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
		most, size := rules.GetRepeated().GetMaxItems(), rules.GetRepeated().GetItems().GetString().GetMaxBytes()
		if most == 0 || size == 0 {
			t.Errorf("%s: its contract does not say how many items there are, and how long they are", name)
		}
		for range most {
			m.Mutable(f).List().Append(protoreflect.ValueOfString(strings.Repeat("x", int(size))))
		}
		return
	}
	if f.IsList() || f.IsMap() {
		t.Errorf("%s: an event lists names only", name)
		return
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		m.Set(f, protoreflect.ValueOfString(strings.Repeat("\u0001", idLength)))
	case protoreflect.BoolKind:
		m.Set(f, protoreflect.ValueOfBool(true))
	case protoreflect.Uint64Kind:
		m.Set(f, protoreflect.ValueOfUint64(1<<64-1))
	case protoreflect.Int32Kind:
		m.Set(f, protoreflect.ValueOfInt32(-1<<31))
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		longest := values.Get(0)
		for i := range values.Len() {
			if v := values.Get(i); len(v.Name()) > len(longest.Name()) {
				longest = v
			}
		}
		m.Set(f, protoreflect.ValueOfEnum(longest.Number()))
	default:
		t.Errorf("%s: nobody knows how long a %s can be", name, f.Kind())
	}
}
