package bus_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/bus"
)

// services are the NATS users that answer requests.
var services = []string{"auth", "notification", "projects", "text", "users"}

// publishers says who may publish on a subject; everybody else must be refused.
var publishers = map[string][]string{
	"rpc.herald.users.v1.Users.GetUser":          {"gateway"},
	"rpc.herald.users.v1.Users.ResolveToken":     {"gateway"},
	"rpc.herald.users.v1.Users.PrepareMail":      {"notification"},
	"rpc.herald.users.v1.Users.CompleteCode":     {"auth"},
	"rpc.herald.users.v1.Users.Nothing":          {},
	"rpc.herald.text.v1.Text.GetMessageText":     {"gateway"},
	"rpc.herald.text.v1.Text.ResolveMessageText": {"notification"},
	"rpc.herald.auth.v1.Auth.ServePage":          {"gateway"},
	"rpc.herald.users.v1.Users.MakeProjectOwner": {"projects"},

	"events.users.org.created.o":   {"users", "operator"},
	"events.text.any.thing.o":      {"text", "operator"},
	"events.gateway.any.thing.o":   {"operator"},
	"dead.text.events.users.org.x": {"text"},
	"outbox.users":                 {"users"},
	"outbox.text":                  {"text"},

	"$JS.API.INFO":                                     services,
	"$JS.API.STREAM.INFO.EVENTS":                       services,
	"$JS.API.STREAM.INFO.DEAD":                         append(services[:5:5], "operator"),
	"$JS.API.STREAM.CREATE.EVENTS":                     services,
	"$JS.API.STREAM.UPDATE.DEAD":                       services,
	"$JS.API.STREAM.CREATE.OTHER":                      {},
	"$JS.API.STREAM.UPDATE.OTHER":                      {},
	"$JS.API.STREAM.DELETE.EVENTS":                     {},
	"$JS.API.STREAM.DELETE.DEAD":                       {},
	"$JS.API.STREAM.PURGE.EVENTS":                      {},
	"$JS.API.STREAM.PURGE.DEAD":                        {},
	"$JS.API.STREAM.MSG.DELETE.EVENTS":                 {},
	"$JS.API.STREAM.MSG.DELETE.DEAD":                   {"operator"},
	"$JS.API.STREAM.MSG.GET.EVENTS":                    {},
	"$JS.API.DIRECT.GET.EVENTS":                        {},
	"$JS.API.DIRECT.GET.DEAD":                          {"operator"},
	"$JS.API.STREAM.SNAPSHOT.EVENTS":                   {},
	"$JS.API.STREAM.NAMES":                             {},
	"$JS.API.CONSUMER.CREATE.EVENTS":                   {},
	"$JS.API.CONSUMER.CREATE.EVENTS.text":              {"text"},
	"$JS.API.CONSUMER.CREATE.EVENTS.text.events.any.>": {"text"},
	"$JS.API.CONSUMER.CREATE.DEAD.text":                {},
	"$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.text":      {},
	"$JS.API.CONSUMER.INFO.EVENTS.text":                {"text"},
	"$JS.API.CONSUMER.DELETE.EVENTS.text":              {},
	"$JS.API.CONSUMER.PAUSE.EVENTS.text":               {},
	"$JS.API.CONSUMER.MSG.NEXT.EVENTS.text":            {"text"},
	"$JS.API.CONSUMER.MSG.NEXT.EVENTS.users":           {"users"},
	"$JS.ACK.EVENTS.text.1.1.1.1.1":                    {"text"},
	"$JS.ACK.EVENTS.users.1.1.1.1.1":                   {"users"},

	"_INBOX.any":             {},
	"_INBOX_gateway.any":     {},
	"_INBOX_users.any":       {},
	"_INBOX_subscriber.any":  {},
	"$SYS.REQ.SERVER.PING":   {},
	"$SYS.REQ.USER.INFO":     {},
	"any":                    {},
	"rpc.herald.gateway.any": {},
}

// subscribers says who may subscribe to a subject.
var subscribers = map[string][]string{
	"events.>":                          {"gateway", "subscriber"},
	"events.users.human.imported.*":     {"gateway", "subscriber"},
	">":                                 {},
	"*":                                 {},
	"rpc.>":                             {},
	"rpc.herald.>":                      {},
	"rpc.herald.*.v1.Users.GetUser":     {},
	"rpc.herald.users.>":                {"users"},
	"rpc.herald.users.v1.Users.GetUser": {"users"},
	"rpc.herald.text.>":                 {"text"},
	"outbox.>":                          {},
	"outbox.users":                      {"users"},
	"dead.>":                            {},
	"dead.users.>":                      {},
	"_INBOX.>":                          {},
	"_INBOX_gateway.>":                  {"gateway"},
	"_INBOX_gateway.any":                {"gateway"},
	"_INBOX_users.>":                    {"users"},
	"_INBOX_operator.>":                 {"operator"},
	"_INBOX_subscriber.>":               {},
	"$JS.>":                             {},
	"$JS.API.>":                         {},
	"$JS.ACK.>":                         {},
	"$SYS.>":                            {},
	"$SRV.>":                            {},
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	s := newServer(t, keys, "")
	users, err := bus.Users()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range users {
		names = append(names, u.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"auth", "gateway", "notification", "operator", "projects", "subscriber", "text", "users"}) {
		t.Errorf("users %v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nc := connect(t, bus.Address{Server: s, User: name, Password: bus.Password(keys, name)})
			for _, subject := range slices.Sorted(maps.Keys(publishers)) {
				if err := nc.Publish(subject, nil); err != nil {
					t.Fatal(err)
				}
				judge(t, nc, "publish", subject, slices.Contains(publishers[subject], name))
			}
			for _, subject := range slices.Sorted(maps.Keys(subscribers)) {
				if _, err := nc.SubscribeSync(subject); err != nil {
					t.Fatal(err)
				}
				judge(t, nc, "subscri", subject, slices.Contains(subscribers[subject], name))
			}
		})
	}
}

// judge compares what the server said of the last act with what it should have.
func judge(t *testing.T, nc *nats.Conn, verb, subject string, allowed bool) {
	t.Helper()
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	said := ""
	if err := nc.LastError(); err != nil {
		said = strings.ToLower(err.Error())
	}
	refused := strings.Contains(said, verb) && strings.Contains(said, `"`+strings.ToLower(subject)+`"`)
	if refused == allowed {
		t.Errorf("%s to %s: refused %v", verb, subject, refused)
	}
}

// A service answers each request that it received once, and writes to nobody's
// inbox else.
func TestAnswerOnce(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	s := newServer(t, keys, "")
	as := func(user string) *nats.Conn {
		return connect(t, bus.Address{Server: s, User: user, Password: bus.Password(keys, user)})
	}
	service, gateway := as("users"), as("gateway")
	const subject = "rpc.herald.users.v1.Users.GetUser"
	if _, err := service.Subscribe(subject, func(m *nats.Msg) { _, _ = m.Respond([]byte("one")), m.Respond([]byte("two")) }); err != nil {
		t.Fatal(err)
	}
	if err := service.Flush(); err != nil {
		t.Fatal(err)
	}
	inbox := gateway.NewInbox()
	answers, err := gateway.SubscribeSync(inbox)
	if err != nil {
		t.Fatal(err)
	}
	if err := gateway.PublishRequest(subject, inbox, nil); err != nil {
		t.Fatal(err)
	}
	if m, err := answers.NextMsg(5 * time.Second); err != nil || string(m.Data) != "one" {
		t.Fatal(m, err)
	}
	if err := service.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := gateway.Flush(); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := answers.Pending(); n != 0 {
		t.Error("answered twice")
	}
	if err := service.LastError(); err == nil || !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
		t.Errorf("the second answer: %v", err)
	}
}
