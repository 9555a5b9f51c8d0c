package contract_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/shared/contract"
	_ "herald/shared/gen/herald/auth/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/text/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Every event there is says whom it ends and which history shows it.
func TestEvents(t *testing.T) {
	t.Parallel()
	events, err := contract.Events(protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	var services []string
	for _, e := range events {
		services = append(services, e.Service)
	}
	if got := strings.Join(slices.Compact(services), " "); got != "notification projects text users" {
		t.Errorf("events of %q", got)
	}
	for history, want := range map[string]string{
		"user": "human member", "org": "org", "project": "project", "other": "",
	} {
		if got := strings.Join(slices.Sorted(slices.Values(contract.Aggregates(history))), " "); got != want {
			t.Errorf("history %s shows %q", history, got)
		}
	}
}

// An event that would leave those believed whom it ends, or be shown to nobody, is refused.
func TestEventFaults(t *testing.T) {
	t.Parallel()
	nobody := &heraldv1.Event_EndsNobody{EndsNobody: true}
	user := func(field string) *heraldv1.Event_EndsUser { return &heraldv1.Event_EndsUser{EndsUser: field} }
	for name, c := range map[string]struct {
		event *heraldv1.Event
		want  string
	}{
		"good":            {&heraldv1.Event{Ends: nobody, History: "thing"}, ""},
		"good user":       {&heraldv1.Event{Ends: user("user_id"), NoHistory: "why"}, ""},
		"ends unsaid":     {&heraldv1.Event{History: "thing"}, "add one of ends_user"},
		"ends not":        {&heraldv1.Event{Ends: &heraldv1.Event_EndsSubject{}, History: "thing"}, "add one of"},
		"unknown user":    {&heraldv1.Event{Ends: user("owner"), History: "thing"}, `"owner" is none`},
		"no history":      {&heraldv1.Event{Ends: nobody}, "add history:"},
		"two histories":   {&heraldv1.Event{Ends: nobody, History: "thing", NoHistory: "w"}, "add history:"},
		"unknown history": {&heraldv1.Event{Ends: nobody, History: "thong"}, `lists the history "thong"`},
		"other's history": {&heraldv1.Event{Ends: nobody, History: "user"}, "lists the history"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.event.Aggregate, c.event.Name = "thing", "made"
			_, err := contract.Events(withEvent(t, c.event))
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// withEvent is a contract with an event and a method that lists the history of things.
func withEvent(t *testing.T, event *heraldv1.Event) *protoregistry.Files {
	t.Helper()
	ofMessage, ofMethod := &descriptorpb.MessageOptions{}, &descriptorpb.MethodOptions{}
	proto.SetExtension(ofMessage, heraldv1.E_Event, event)
	proto.SetExtension(ofMethod, heraldv1.E_History, "thing")
	field := &descriptorpb.FieldDescriptorProto{
		Name: new("user_id"), Number: new(int32(1)), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(),
	}
	method := &descriptorpb.MethodDescriptorProto{
		Name: new("List"), InputType: new(".herald.test.v1.Made"), OutputType: new(".herald.test.v1.Made"),
		Options: ofMethod,
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("event.proto"), Package: new("herald.test.v1"), Syntax: new("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: new("Made"), Options: ofMessage, Field: []*descriptorpb.FieldDescriptorProto{field}},
		},
		Service: []*descriptorpb.ServiceDescriptorProto{
			{Name: new("Test"), Method: []*descriptorpb.MethodDescriptorProto{method}},
		},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	files := &protoregistry.Files{}
	if err := files.RegisterFile(file); err != nil {
		t.Fatal(err)
	}
	return files
}
