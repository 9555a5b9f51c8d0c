package transcode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	_ "herald/shared/gen/herald/auth/v1"
	_ "herald/shared/gen/herald/notification/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// written returns every message of the contracts, and others that a contract could use later.
func written() []proto.Message {
	all := append(kinds(), &structpb.Struct{}, &structpb.Value{}, &structpb.ListValue{}, &anypb.Any{}, &emptypb.Empty{},
		&fieldmaskpb.FieldMask{}, &timestamppb.Timestamp{}, &durationpb.Duration{},
		&descriptorpb.FieldDescriptorProto{},
		&wrapperspb.BoolValue{}, &wrapperspb.BytesValue{}, &wrapperspb.DoubleValue{}, &wrapperspb.FloatValue{},
		&wrapperspb.Int32Value{}, &wrapperspb.Int64Value{}, &wrapperspb.StringValue{}, &wrapperspb.UInt32Value{},
		&wrapperspb.UInt64Value{})
	all = append(all, dynamicpb.NewMessage(unusual().Messages().Get(0)))
	protoregistry.GlobalTypes.RangeMessages(func(t protoreflect.MessageType) bool {
		if strings.HasPrefix(string(t.Descriptor().FullName()), "herald.") {
			all = append(all, t.New().Interface())
		}
		return true
	})
	return all
}

// unusual is a proto file with kinds of fields that no contract has today.
var unusual = sync.OnceValue(func() protoreflect.FileDescriptor {
	var file descriptorpb.FileDescriptorProto
	err := prototext.Unmarshal([]byte(`
		name: "unusual.proto" package: "unusual" dependency: "google/protobuf/struct.proto"
		message_type: {
			name: "Unusual"
			field: { name: "null" number: 1 type: TYPE_ENUM label: LABEL_OPTIONAL
				type_name: ".google.protobuf.NullValue" }
			field: { name: "nulls" number: 2 type: TYPE_ENUM label: LABEL_REPEATED
				type_name: ".google.protobuf.NullValue" }
			field: { name: "alias" number: 3 type: TYPE_ENUM label: LABEL_OPTIONAL type_name: ".unusual.Alias"
				json_name: "a \"b\" \n" }
			field: { name: "float" number: 6 type: TYPE_FLOAT label: LABEL_REPEATED }
			field: { name: "double" number: 7 type: TYPE_DOUBLE label: LABEL_REPEATED }
			field: { name: "group" number: 4 type: TYPE_GROUP label: LABEL_REPEATED
				type_name: ".unusual.Unusual.Group" }
			nested_type: { name: "Group" field: { name: "fixed" number: 1 type: TYPE_SFIXED64 label: LABEL_OPTIONAL }
				extension_range: { start: 5 end: 9 } }
			field: { name: "counts" number: 5 type: TYPE_MESSAGE label: LABEL_REPEATED
				type_name: ".unusual.Unusual.CountsEntry" }
			nested_type: {
				name: "CountsEntry" options: { map_entry: true }
				field: { name: "key" number: 1 type: TYPE_SINT64 label: LABEL_OPTIONAL }
				field: { name: "value" number: 2 type: TYPE_MESSAGE label: LABEL_OPTIONAL
					type_name: ".unusual.Unusual.Group" }
			}
		}
		enum_type: {
			name: "Alias" options: { allow_alias: true }
			value: { name: "ONE" number: 1 } value: { name: "FIRST" number: 1 } value: { name: "MINUS" number: -7 }
		}
		extension: { name: "more" number: 5 type: TYPE_STRING label: LABEL_OPTIONAL
			extendee: ".unusual.Unusual.Group" }`), &file)
	if err != nil {
		panic(err)
	}
	d, err := protodesc.NewFile(&file, protoregistry.GlobalFiles)
	if err != nil {
		panic(err)
	}
	return d
})

func TestEncodeExtensions(t *testing.T) {
	t.Parallel()
	more := dynamicpb.NewExtensionType(unusual().Extensions().Get(0))
	m := dynamicpb.NewMessage(unusual().Messages().Get(0).Messages().ByName("Group"))
	m.Set(more.TypeDescriptor(), protoreflect.ValueOfString("x"))
	got, err := Encode(nil, m)
	if err != nil || string(got) != `{"[unusual.more]":"x"}` {
		t.Errorf("wrote %s: %v", got, err)
	}
}

// agree compares Encode with protojson: both refuse, or both texts mean the same. It compares the
// lengths too, because a name that is written twice does not change the meaning.
func agree(t testing.TB, m proto.Message) error {
	t.Helper()
	got, err := Encode([]byte("before"), m)
	want, refusal := full.Marshal(m)
	if (err == nil) != (refusal == nil) {
		t.Fatalf("%T: answers %v, where protojson answers %v", m, err, refusal)
	}
	if err != nil {
		return err
	}
	got, appended := bytes.CutPrefix(got, []byte("before"))
	if !appended || !bytes.Equal(got, compacted(t, got)) || len(got) != len(compacted(t, want)) ||
		!reflect.DeepEqual(meaning(t, got), meaning(t, want)) {
		t.Fatalf("%T: wrote\n%s\nwhere protojson writes\n%s", m, got, want)
	}
	return nil
}

func compacted(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b.Bytes()
}

func meaning(t testing.TB, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // float64 would lose digits of large numbers
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// filler sets the fields of messages to random values.
type filler struct{ *rand.Rand }

func pick[T any](r filler, from ...T) T { return from[r.IntN(len(from))] }

func (r filler) fill(m protoreflect.Message, depth int) {
	switch m := m.Interface().(type) {
	case *timestamppb.Timestamp:
		m.Seconds = pick(r, 0, 1, -1, -62135596800, 253402300799, 951782400, r.Int64N(4e9))
		m.Nanos = pick(r, 0, 1, 999_999_999, 120_000_000, 123_000, 1000, 100, r.Int32N(1e9))
		return
	case *durationpb.Duration:
		sign := pick(r, int64(1), -1)
		m.Seconds = sign * pick(r, 0, 1, 315_576_000_000, r.Int64N(1e6))
		m.Nanos = int32(sign) * pick(r, 0, 1, 500_000_000, 1000, r.Int32N(1e9))
		return
	case *structpb.Value:
		m.Kind = pick[*structpb.Value](r, structpb.NewNullValue(), structpb.NewBoolValue(true),
			structpb.NewNumberValue(1e-7),
			structpb.NewStringValue(r.text()),
			structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewNumberValue(12)}}),
			structpb.NewStructValue(&structpb.Struct{})).Kind
		return
	case *anypb.Any:
		_ = m.MarshalFrom(pick[proto.Message](r, durationpb.New(time.Second),
			&heraldv1.ObjectDetails{ResourceOwner: r.text()}))
		return
	case *fieldmaskpb.FieldMask:
		m.Paths = []string{"a.b_c", "d"}
		return
	}
	for i := range m.Descriptor().Fields().Len() {
		if f := m.Descriptor().Fields().Get(i); f.Message() == nil || depth > 0 {
			r.set(m, f, depth)
		}
	}
}

func (r filler) set(m protoreflect.Message, f protoreflect.FieldDescriptor, depth int) {
	switch {
	case f.IsMap():
		entries := m.Mutable(f).Map()
		for range 3 {
			entries.Set(r.value(f.MapKey(), nil, 0).MapKey(), r.value(f.MapValue(), entries.NewValue, depth))
		}
	case f.IsList():
		items := m.Mutable(f).List()
		for range 3 {
			items.Append(r.value(f, items.NewElement, depth))
		}
	default:
		m.Set(f, r.value(f, func() protoreflect.Value { return m.NewField(f) }, depth))
	}
}

func (r filler) value(f protoreflect.FieldDescriptor, empty func() protoreflect.Value, depth int) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(r.IntN(2) == 0)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(r.text())
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(pick(r, nil, []byte{0xfb, 0xff}, []byte{0xff, 0xef, 0xbe}, []byte(r.text())))
	case protoreflect.EnumKind:
		known := f.Enum().Values()
		return protoreflect.ValueOfEnum(pick(r, 0, -1, 12345, math.MinInt32, known.Get(r.IntN(known.Len())).Number(),
			known.Get(r.IntN(known.Len())).Number()))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(pick(r, 0, -1, math.MinInt32, math.MaxInt32, r.Int32()))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(pick(r, 0, math.MaxUint32, r.Uint32()))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(pick(r, 0, -1, math.MinInt64, math.MaxInt64, 1<<53+1, r.Int64()))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(pick(r, 0, math.MaxUint64, r.Uint64()))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(r.float(math.MaxFloat32, math.SmallestNonzeroFloat32)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(r.float(math.MaxFloat64, math.SmallestNonzeroFloat64))
	}
	v := empty()
	if depth > 0 && r.IntN(5) > 0 || f.Message().ParentFile().Package() == "google.protobuf" {
		r.fill(v.Message(), depth-1)
	}
	return v
}

func (r filler) float(largest, smallest float64) float64 {
	return pick(r, 0, math.Copysign(0, -1), 0.1, 1e-6, 1e-7, 1e20, 1e21, 1<<24+1, math.NaN(), math.Inf(1), math.Inf(-1),
		largest, smallest, r.NormFloat64())
}

func (r filler) text() string {
	nasty := []string{`"`, `\`, `\u0041`, "\x00", "\x01", "\b\f\n\r\t", "\x1f", "\x7f", "\u0080", "é", "\u2028\u2029",
		"<>&", "😀", "\ufffd", "\ufeff", "\U0010ffff", "plain text"}
	var b strings.Builder
	b.WriteString("plain ")
	for range r.IntN(6) {
		b.WriteString(pick(r, nasty...))
	}
	return b.String()
}

func TestEncode(t *testing.T) {
	t.Parallel()
	all := written()
	if len(all) < 200 {
		t.Fatalf("only %d messages", len(all))
	}
	for i, m := range all {
		t.Run(string(m.ProtoReflect().Descriptor().FullName()), func(t *testing.T) {
			t.Parallel()
			_ = agree(t, m) // an empty Value is refused
			r := filler{rand.New(rand.NewPCG(1, uint64(i)))}
			for depth := range 20 {
				full := m.ProtoReflect().New()
				r.fill(full, min(depth, 3))
				if err := agree(t, full.Interface()); err != nil {
					t.Errorf("depth %d: %v", depth, err)
				}
			}
			members(t, m.ProtoReflect(), r)
		})
	}
}

// members tests messages in which only one field is set: each member of a oneof, and each field
// for which unset and default differ.
func members(t *testing.T, m protoreflect.Message, r filler) {
	t.Helper()
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if !f.HasPresence() {
			continue
		}
		alone := m.New()
		alone.Set(f, alone.NewField(f))
		_ = agree(t, alone.Interface())
		r.set(alone, f, 2)
		_ = agree(t, alone.Interface())
	}
}

// Compares with expected texts, not only with protojson.
func TestEncodeWrites(t *testing.T) {
	t.Parallel()
	at := &timestamppb.Timestamp{Seconds: -62135596800, Nanos: 120_000_000}
	extended := &descriptorpb.MethodOptions{}
	proto.SetExtension(extended, annotations.E_Http, &annotations.HttpRule{Body: "*"})
	for _, c := range []struct {
		m    proto.Message
		want string
	}{
		{&heraldv1.ObjectDetails{}, `{"sequence":"0","resourceOwner":""}`},
		{&heraldv1.ObjectDetails{Sequence: math.MaxUint64, ChangeDate: at}, `{"sequence":"18446744073709551615",` +
			`"changeDate":"0001-01-01T00:00:00.120Z","resourceOwner":""}`},
		{&projectsv1.SearchProjectsResponse{}, `{"result":[]}`},
		{&projectsv1.SearchProjectsResponse{Result: []*projectsv1.Project{}, Details: &heraldv1.ListDetails{}},
			`{"result":[],"details":{"totalResult":"0","processedSequence":"0"}}`},
		{&durationpb.Duration{Nanos: -1000}, `"-0.000001s"`},
		{&usersv1.UserNameQuery{UserName: "\x00<\u2028\"", Method: 99},
			"{\"userName\":\"\\u0000<\u2028\\\"\",\"method\":99}"},
		{&annotations.HttpRule{Pattern: &annotations.HttpRule_Get{}},
			`{"selector":"","get":"","body":"","responseBody":"","additionalBindings":[]}`},
		{extended, `{"uninterpretedOption":[],"[google.api.http]":{"selector":"","body":"*","responseBody":"",` +
			`"additionalBindings":[]}}`},
		{
			&structpb.Struct{Fields: map[string]*structpb.Value{"b": structpb.NewNullValue(),
				"a": structpb.NewNumberValue(1)}}, `{"a":1,"b":null}`,
		},
	} {
		got, err := Encode(nil, c.m)
		if err != nil || !reflect.DeepEqual(meaning(t, got), meaning(t, []byte(c.want))) {
			t.Errorf("wrote %s, want %s: %v", got, c.want, err)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	const broken = "before \xed\xa0\x80"
	for _, m := range []proto.Message{
		&heraldv1.ObjectDetails{ResourceOwner: broken},
		&heraldv1.ObjectDetails{ResourceOwner: "\\\xff"},
		&heraldv1.ObjectDetails{ResourceOwner: "\x80"},
		&heraldv1.ObjectDetails{CreationDate: &timestamppb.Timestamp{Seconds: -62135596801}},
		&heraldv1.ObjectDetails{CreationDate: &timestamppb.Timestamp{Seconds: 253402300800}},
		&heraldv1.ObjectDetails{CreationDate: &timestamppb.Timestamp{Seconds: math.MinInt64, Nanos: math.MinInt32}},
		&heraldv1.ObjectDetails{CreationDate: &timestamppb.Timestamp{Nanos: -1}},
		&heraldv1.ObjectDetails{CreationDate: &timestamppb.Timestamp{Nanos: 1e9}},
		&durationpb.Duration{Seconds: 1, Nanos: -1},
		&durationpb.Duration{Seconds: -1, Nanos: 1},
		&durationpb.Duration{Seconds: 315_576_000_001},
		&durationpb.Duration{Seconds: math.MinInt64},
		&durationpb.Duration{Nanos: math.MinInt32},
		&structpb.Struct{Fields: map[string]*structpb.Value{broken: structpb.NewNullValue()}},
		structpb.NewNumberValue(math.NaN()),
		&anypb.Any{TypeUrl: "type.googleapis.com/nothing", Value: []byte("x")},
		&fieldmaskpb.FieldMask{Paths: []string{"a__b"}},
	} {
		if agree(t, m) == nil {
			t.Errorf("%v was written", m)
		}
	}
}

// The buffers of Encode are reused; the returned bytes are not.
func TestEncodeAnswersAreTheirOwn(t *testing.T) {
	t.Parallel()
	first, err := Encode(nil, page(3))
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(first)
	for range 100 {
		if _, err := Encode(nil, &heraldv1.ObjectDetails{ResourceOwner: strings.Repeat("x", 2000)}); err != nil {
			t.Fatal(err)
		}
		_, _ = Encode(nil, &heraldv1.ObjectDetails{ResourceOwner: "\xff"})
	}
	if !bytes.Equal(first, before) {
		t.Errorf("became %s", first)
	}
}

func TestEncodeSortsMaps(t *testing.T) {
	t.Parallel()
	m := &errdetails.ErrorInfo{Metadata: map[string]string{"d": "", "b": "", "c": "", "": "", "a": ""}}
	for range 20 {
		if got, err := Encode(nil, m); err != nil || string(got) != `{"reason":"","domain":"","metadata":{"":"",`+
			`"a":"","b":"","c":"","d":""}}` {
			t.Fatalf("wrote %s: %v", got, err)
		}
	}
}

// For any bytes that parse as a message, Encode and protojson agree.
func FuzzEncode(f *testing.F) {
	all := append(written()[:len(kinds())+9], &projectsv1.SearchProjectsResponse{}, &projectsv1.App{}, &usersv1.User{},
		&heraldv1.SearchChangesResponse{})
	r := filler{rand.New(rand.NewPCG(1, 2))}
	for _, m := range all {
		full := m.ProtoReflect().New()
		r.fill(full, 1) // a deeper seed would take long to minimize
		seed, err := proto.Marshal(full.Interface())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range all {
			m := kind.ProtoReflect().New().Interface()
			if proto.Unmarshal(data, m) == nil {
				_ = agree(t, m)
			}
		}
	})
}

func page(n int) *projectsv1.SearchProjectsResponse {
	at := timestamppb.New(time.Date(2031, 2, 3, 4, 5, 6, 789_012_000, time.UTC))
	p := &projectsv1.SearchProjectsResponse{Details: &heraldv1.ListDetails{
		TotalResult: uint64(n), ProcessedSequence: 123_456, ViewTimestamp: at,
	}}
	for i := range n {
		p.Result = append(p.Result, &projectsv1.Project{
			Id: fmt.Sprint(312909075212468224 + i), Name: fmt.Sprint("Project ", i),
			State: projectsv1.ProjectState_PROJECT_STATE_ACTIVE, ProjectRoleAssertion: i%2 == 0,
			Details: &heraldv1.ObjectDetails{
				Sequence: uint64(i), ResourceOwner: "312909075212468000", CreationDate: at, ChangeDate: at,
			},
		})
	}
	return p
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{20, 1000} {
		m := page(n)
		for _, w := range []struct {
			name  string
			write func([]byte, proto.Message) ([]byte, error)
		}{{"own", Encode}, {"protojson", full.MarshalAppend}} {
			b.Run(fmt.Sprint(w.name, "/", n), func(b *testing.B) {
				b.ReportAllocs()
				var out []byte
				for b.Loop() {
					var err error
					if out, err = w.write(out[:0], m); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
