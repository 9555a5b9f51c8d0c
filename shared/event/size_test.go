package event_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/timestamppb"

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
	if f.IsList() || f.IsMap() {
		fillList(t, m, f)
		return
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		m.Set(f, protoreflect.ValueOfString(strings.Repeat("\u0001", idLength)))
	case protoreflect.BoolKind:
		m.Set(f, protoreflect.ValueOfBool(true))
	case protoreflect.Uint32Kind:
		m.Set(f, protoreflect.ValueOfUint32(1<<32-1))
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
	case protoreflect.MessageKind:
		if f.Message().FullName() != "google.protobuf.Timestamp" {
			t.Errorf("%s: an event has no other messages than times", name)
			return
		}
		last := timestamppb.New(time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)) // the last of protobuf
		m.Set(f, protoreflect.ValueOfMessage(last.ProtoReflect()))
	default:
		t.Errorf("%s: nobody knows how long a %s can be", name, f.Kind())
	}
}

// fillList makes a list as long as its contract allows. Its items are names of ours, or have such names beside what
// fill can set.
func fillList(t *testing.T, m protoreflect.Message, f protoreflect.FieldDescriptor) {
	t.Helper()
	rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
	if most := rules.GetRepeated().GetMaxItems(); most == 0 {
		t.Errorf("%s: its contract does not say how many items there are", f.FullName())
	}
	list := m.Mutable(f).List()
	for range rules.GetRepeated().GetMaxItems() {
		switch f.Kind() {
		case protoreflect.StringKind:
			list.Append(longest(t, f, rules.GetRepeated().GetItems()))
		case protoreflect.MessageKind:
			item := list.AppendMutable().Message()
			for i := range f.Message().Fields().Len() {
				field := f.Message().Fields().Get(i)
				if field.Kind() != protoreflect.StringKind {
					fill(t, item, field)
					continue
				}
				rules, _ := proto.GetExtension(field.Options(), validate.E_Field).(*validate.FieldRules)
				item.Set(field, longest(t, field, rules))
			}
		default:
			t.Fatalf("%s: nobody knows how long a list of %s can be", f.FullName(), f.Kind())
		}
	}
}

// longest returns the longest name of ours that a field can have.
func longest(t *testing.T, f protoreflect.FieldDescriptor, rules *validate.FieldRules) protoreflect.Value {
	t.Helper()
	size := rules.GetString().GetMaxBytes()
	if size == 0 {
		t.Errorf("%s: its contract does not say how long it is", f.FullName())
	}
	return protoreflect.ValueOfString(strings.Repeat("x", int(size)))
}
