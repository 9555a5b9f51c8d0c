package contract_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/shared/contract"
	_ "herald/shared/gen/herald/auth/v1"
	_ "herald/shared/gen/herald/idp/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1"
	_ "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Each event has options for the callers that it ends and for the history that shows it.
func TestEvents(t *testing.T) {
	t.Parallel()
	events, err := contract.LinkedEvents()
	if err != nil {
		t.Fatal(err)
	}
	var services []string
	for _, e := range events {
		services = append(services, e.Service)
	}
	if got := strings.Join(slices.Compact(services), " "); got != "auth idp notification projects text users" {
		t.Errorf("events of %q", got)
	}
	for history, want := range map[string]string{
		"user": "human idp_link machine machine_key member otp pat user", "org": "org", "idp": "idp",
		"project": "application project project_grant user_grant",
	} {
		t.Run(history, func(t *testing.T) {
			aggregates, err := contract.Aggregates(history)
			if got := strings.Join(slices.Sorted(slices.Values(aggregates)), " "); got != want || err != nil {
				t.Errorf("shows %q (%v): if a new aggregate belongs there, add it to this table", got, err)
			}
		})
	}
	if found, err := contract.Aggregates("uesr"); err == nil || !strings.Contains(err.Error(), `"uesr"`) {
		t.Errorf("a mistyped history shows %q (%v)", found, err)
	}
	if got, want := contract.HistoryFields(), map[string]string{
		"machine_key": "userId", "pat": "userId",
		"application": "projectId", "project_grant": "projectId", "user_grant": "projectId",
	}; !maps.Equal(got, want) {
		t.Errorf("shown by what fields name: %v", got)
	}
	if got := contract.HistoryID(&usersv1.PersonalAccessTokenAdded{UserId: "u"}, "t"); got != "u" {
		t.Errorf("a token is shown by %q", got)
	}
	if got := contract.HistoryID(&usersv1.OrgCreated{}, "o"); got != "o" {
		t.Errorf("an organization is shown by %q", got)
	}
}

// An event without an option that says whom it ends and which history shows it is refused.
func TestEventFaults(t *testing.T) {
	t.Parallel()
	nobody := &heraldv1.Event_EndsNobody{EndsNobody: true}
	user := func(field string) *heraldv1.Event_EndsUser { return &heraldv1.Event_EndsUser{EndsUser: field} }
	app := func(field string) *heraldv1.Event_EndsApp { return &heraldv1.Event_EndsApp{EndsApp: field} }
	project := func(field string) *heraldv1.Event_EndsProject {
		return &heraldv1.Event_EndsProject{EndsProject: field}
	}
	for name, c := range map[string]struct {
		event *heraldv1.Event
		want  string
	}{
		"good":            {&heraldv1.Event{Ends: nobody, History: "thing"}, ""},
		"good user":       {&heraldv1.Event{Ends: user("user_id"), NoHistory: "why"}, ""},
		"ends unsaid":     {&heraldv1.Event{History: "thing"}, "add one of ends_user"},
		"ends not":        {&heraldv1.Event{Ends: &heraldv1.Event_EndsSubject{}, History: "thing"}, "add one of"},
		"unknown user":    {&heraldv1.Event{Ends: user("owner"), History: "thing"}, `"owner" is none`},
		"good app":        {&heraldv1.Event{Ends: app("user_id"), History: "thing"}, ""},
		"good own app":    {&heraldv1.Event{Ends: app("subject"), History: "thing"}, ""},
		"unknown app":     {&heraldv1.Event{Ends: app("app_id"), History: "thing"}, `ends_app names a text field`},
		"good project":    {&heraldv1.Event{Ends: project("subject"), History: "thing"}, ""},
		"unknown project": {&heraldv1.Event{Ends: project("number"), History: "thing"}, `ends_project names a text`},
		"good org": {
			&heraldv1.Event{Ends: &heraldv1.Event_EndsOrg{EndsOrg: "subject"}, History: "thing"}, "",
		},
		"unknown org": {
			&heraldv1.Event{Ends: &heraldv1.Event_EndsOrg{EndsOrg: "org_id"}, History: "thing"},
			"ends_org names a text",
		},
		"good or app":     {&heraldv1.Event{Ends: user("user_id"), OrApp: "user_id", History: "thing"}, ""},
		"unknown or app":  {&heraldv1.Event{Ends: user("user_id"), OrApp: "app_id", History: "thing"}, "or_app names"},
		"or app alone":    {&heraldv1.Event{Ends: nobody, OrApp: "user_id", History: "thing"}, "goes with ends_user"},
		"subject's user":  {&heraldv1.Event{Ends: user("subject"), History: "thing"}, `"subject" is none`},
		"no history":      {&heraldv1.Event{Ends: nobody}, "add history:"},
		"two histories":   {&heraldv1.Event{Ends: nobody, History: "thing", NoHistory: "w"}, "add history:"},
		"unknown history": {&heraldv1.Event{Ends: nobody, History: "thong"}, `lists the history "thong"`},
		"other's history": {&heraldv1.Event{Ends: nobody, History: "user"}, "lists the history"},
		"good owner":      {&heraldv1.Event{Ends: nobody, History: "thing", HistoryOf: "user_id"}, ""},
		"unknown owner": {
			&heraldv1.Event{Ends: nobody, History: "thing", HistoryOf: "org_id"}, "add string org_id",
		},
		"owner of no text": {&heraldv1.Event{Ends: nobody, History: "thing", HistoryOf: "number"}, `"number" is none`},
		"owner of nothing": {
			&heraldv1.Event{Ends: nobody, NoHistory: "why", HistoryOf: "user_id"}, "goes with history",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.event.Aggregate, c.event.Name = "thing", "made"
			_, err := contract.Events(withEvents(t, c.event))
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// All events of an aggregate must be in the same history.
func TestEventsOfAnAggregate(t *testing.T) {
	t.Parallel()
	event := func(name, of string) *heraldv1.Event {
		return &heraldv1.Event{
			Aggregate: "thing", Name: name, Ends: &heraldv1.Event_EndsNobody{EndsNobody: true},
			History: "thing", HistoryOf: of,
		}
	}
	if _, err := contract.Events(withEvents(t, event("made", "user_id"), event("gone", "user_id"))); err != nil {
		t.Error(err)
	}
	_, err := contract.Events(withEvents(t, event("made", "user_id"), event("gone", "")))
	if err == nil || !strings.Contains(err.Error(), "history_of") {
		t.Errorf("got %v", err)
	}
}

// If other events of the service end callers, an event that ends nobody needs a reason.
func TestEventsThatEndNobody(t *testing.T) {
	t.Parallel()
	event := func(name, because string, ends *heraldv1.Event) *heraldv1.Event {
		return &heraldv1.Event{Aggregate: "thing", Name: name, Ends: ends.Ends, History: "thing", Because: because}
	}
	subject := &heraldv1.Event{Ends: &heraldv1.Event_EndsSubject{EndsSubject: true}}
	nobody := &heraldv1.Event{Ends: &heraldv1.Event_EndsNobody{EndsNobody: true}}
	for because, want := range map[string]string{"it is new": "", "": "add because"} {
		t.Run(because, func(t *testing.T) {
			_, err := contract.Events(withEvents(t, event("locked", "", subject), event("made", because, nobody)))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("because %q: %v", because, err)
			}
		})
	}
}

// withEvents is a contract with events and a method that lists the history of things.
func withEvents(t *testing.T, events ...*heraldv1.Event) *protoregistry.Files {
	t.Helper()
	ofMethod := &descriptorpb.MethodOptions{}
	proto.SetExtension(ofMethod, heraldv1.E_History, "thing")
	field := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type,
	) *descriptorpb.FieldDescriptorProto {
		return &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: &number, Type: &kind, Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
	}
	var messages []*descriptorpb.DescriptorProto
	for i, e := range events {
		options := &descriptorpb.MessageOptions{}
		proto.SetExtension(options, heraldv1.E_Event, e)
		messages = append(messages, &descriptorpb.DescriptorProto{
			Name: new(fmt.Sprint("Made", i)), Options: options, Field: []*descriptorpb.FieldDescriptorProto{
				field("user_id", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING),
				field("number", 2, descriptorpb.FieldDescriptorProto_TYPE_INT64),
			},
		})
	}
	method := &descriptorpb.MethodDescriptorProto{
		Name: new("List"), InputType: new(".herald.test.v1.Made0"), OutputType: new(".herald.test.v1.Made0"),
		Options: ofMethod,
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: new("event.proto"), Package: new("herald.test.v1"), Syntax: new("proto3"),
		MessageType: messages,
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
