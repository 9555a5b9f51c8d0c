package main

import (
	_ "embed"

	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/contract"
)

//go:embed text/asyncapi.md
var asyncAPIText string

// AsyncAPI returns the description of the events.
func (c *Contract) AsyncAPI() ([]byte, error) {
	s := &schemas{
		made:      map[string]object{},
		required:  func(protoreflect.FieldDescriptor) bool { return false }, // default values are left out
		inRequest: func(protoreflect.MessageDescriptor) bool { return false },
	}
	var channels, operations, messages object
	for _, e := range c.Events {
		name := e.Channel()
		message := object{{"$ref", "#/components/messages/" + name}}
		channels = channels.with(name, object{
			{"address", "events." + name + ".{orgId}"},
			{"title", name},
			{"messages", object{{e.Option.Name, message}}},
			{"parameters", object{{"orgId", object{{"$ref", "#/components/parameters/orgId"}}}}},
		})
		operations = operations.with("publish."+name, object{
			{"action", "send"},
			{"channel", object{{"$ref", "#/channels/" + name}}},
			{"messages", []object{{{"$ref", "#/channels/" + name + "/messages/" + e.Option.Name}}}},
		})
		messages = messages.with(name, s.event(e))
	}
	return marshal(object{
		{"asyncapi", "3.0.0"},
		{"info", object{
			{"title", "Herald's events"}, {"version", "v1"}, {"description", asyncAPIText},
			{"license", object{{"name", "Apache 2.0"}, {"url", "https://www.apache.org/licenses/LICENSE-2.0"}}},
		}},
		{"defaultContentType", "application/json"},
		{"servers", object{{"nats", object{
			{"host", "{host}"}, {"protocol", "nats"},
			{"description", "`herald run` writes the address with user and password into `.data/subscriber.url`; " +
				"with Docker Compose it is port 4222."},
			{"variables", object{{"host", object{{"default", "127.0.0.1:4222"}}}}},
			{"security", []object{{{"$ref", "#/components/securitySchemes/subscriber"}}}},
		}}}},
		{"channels", channels},
		{"operations", operations},
		{"components", object{
			{"messages", messages},
			{
				"parameters", object{{"orgId",
					object{{"description", "The id of the organization that the object belongs to, with `_` for each " +
						"of NATS's own signs, and `_` alone where there is none."}}}},
			},
			{"schemas", object{{"CloudEvent", cloudEvent}}.join(s.components())},
			{"securitySchemes", object{{"subscriber", object{
				{"type", "userPassword"}, {"description",
					"The user `subscriber` may subscribe to `events.>` and do nothing else."},
			}}}},
		}},
	}, "  ")
}

func (o object) join(more object) object { return append(o, more...) }

func (s *schemas) event(e contract.Event) object {
	message := object{{"name", e.Type()}, {"title", e.Channel()}}
	if text := comment(e); text != "" {
		message = message.with("summary", text)
	}
	return append(message, object{
		{"contentType", "application/json"},
		{"headers", object{{"allOf", []object{refer("CloudEvent"), {
			{"type", "object"}, {"properties", object{
				{"ce-type", object{{"const", e.Type()}}}, {"ce-source", object{{"const", "/herald/" + e.Service}}},
			}},
		}}}}},
		{"payload", s.ref(e)},
		{"examples", []object{{{"headers", exampleHeaders(e)}, {"payload", exampleOf(e)}}}},
	}...)
}

// exampleHeaders returns the headers of an event of a user of an organization.
func exampleHeaders(e contract.Event) object {
	return object{
		{"Nats-Msg-Id", exampleEvent}, {"content-type", "application/json"}, {"ce-specversion", "1.0"},
		{"ce-id", exampleEvent}, {"ce-source", "/herald/" + e.Service}, {"ce-type", e.Type()},
		{"ce-subject", exampleID}, {"ce-time", exampleWellKnown["google.protobuf.Timestamp"]}, {"ce-sequence", "7"},
		{"ce-orgid", exampleOrg}, {"ce-actor", exampleID},
	}
}

// cloudEvent describes the headers of CloudEvents 1.0 over NATS in binary mode.
var cloudEvent = object{
	{"type", "object"},
	{"required", []string{"Nats-Msg-Id", "content-type", "ce-specversion", "ce-id", "ce-source", "ce-type",
		"ce-time", "ce-sequence"}},
	{"properties", object{
		{"Nats-Msg-Id", header("The event's id, again: what NATS itself knows repeats by.")},
		{"content-type", object{{"const", "application/json"}}},
		{"ce-specversion", object{{"const", "1.0"}}},
		{"ce-id", header("The event's id. It stays when an event is published again.")},
		{"ce-source", header("The service that the object belongs to.")},
		{"ce-type", header("What happened.")},
		{"ce-subject", header("The object's id.")},
		{"ce-time", object{{"type", "string"}, {"format", "date-time"}, {"description", "When the change was made."}}},
		{"ce-sequence", object{
			{"type", "string"}, {"pattern", "^[0-9]+$"}, {"description",
				"The event's position in its service, rising for each object. Drop what is older than what you have."},
		}},
		{"ce-orgid", header("The organization that the object belongs to.")},
		{"ce-actor", header("The id of the user, or the name of the service, behind the change.")},
	}},
}

func header(text string) object { return object{{"type", "string"}, {"description", text}} }
