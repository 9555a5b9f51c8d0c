package bus

import (
	"encoding/hex"
	"slices"

	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/contract"
	"herald/shared/secret"
)

// Gateway, Subscriber and Operator are the NATS users that are no services.
const (
	Gateway    = "gateway"
	Subscriber = "subscriber"
	// Operator publishes once more what was put aside among the dead.
	Operator = "operator"
)

// User is a NATS user and what it may do: the same in the all-in-one, in tests and
// in a cluster.
type User struct {
	Name      string
	Publish   []string
	Subscribe []string
	// Answers allows one answer to each request received.
	Answers bool
}

// Users reads from the contracts who calls and who answers what. Whoever is not
// named by an internal method cannot even send to it.
func Users() ([]User, error) {
	services, calls, err := read()
	if err != nil {
		return nil, err
	}
	news, err := heard()
	if err != nil {
		return nil, err
	}
	users := []User{
		{Name: Gateway, Publish: calls[Gateway], Subscribe: append(news, inbox(Gateway)+".>", "events.>")},
		{Name: Subscriber, Subscribe: []string{"events.>"}},
		{Name: Operator, Publish: []string{
			"events.>", "$JS.API.STREAM.INFO.DEAD", "$JS.API.DIRECT.GET.DEAD", "$JS.API.STREAM.MSG.DELETE.DEAD",
		}, Subscribe: []string{inbox(Operator) + ".>"}},
	}
	for _, s := range services {
		users = append(users, serviceUser(s, calls[s]))
	}
	return users, nil
}

// Services reads from the contracts the names of Herald's services.
func Services() ([]string, error) {
	services, _, err := read()
	return services, err
}

// read returns the services of the contracts, and the subjects that each user calls.
func read() (services []string, calls map[string][]string, err error) {
	methods, err := contract.AllMethods()
	if err != nil {
		return nil, nil, err
	}
	calls = map[string][]string{}
	for _, m := range methods {
		services = append(services, m.Owner())
		callers := m.Access.Internal
		if len(m.Rules) > 0 {
			callers = append([]string{Gateway}, m.Access.Forwarded...)
		}
		for _, name := range callers {
			calls[name] = append(calls[name], m.Subject())
			if name != Gateway {
				services = append(services, name)
			}
		}
	}
	slices.Sort(services)
	return slices.Compact(services), calls, nil
}

// heard lists where the news comes from after which somebody is another caller.
func heard() (subjects []string, err error) {
	events, err := contract.Events(protoregistry.GlobalFiles)
	for _, e := range events {
		if e.EndsCallers() {
			subjects = append(subjects, "outbox."+e.Service)
		}
	}
	slices.Sort(subjects)
	return slices.Compact(subjects), err
}

func serviceUser(s string, calls []string) User {
	return User{
		Name: s,
		Publish: append(calls,
			"events."+s+".>", "dead."+s+".>", "outbox."+s,
			"$JS.API.INFO", "$JS.API.STREAM.INFO.*",
			"$JS.API.STREAM.CREATE.EVENTS", "$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.CREATE.DEAD",
			"$JS.API.STREAM.UPDATE.DEAD",
			// Which services lag behind the stream is every relay's concern.
			"$JS.API.CONSUMER.LIST.EVENTS", "$JS.API.DIRECT.GET.EVENTS",
			"$JS.API.CONSUMER.INFO.EVENTS."+s, "$JS.API.CONSUMER.CREATE.EVENTS."+s,
			"$JS.API.CONSUMER.CREATE.EVENTS."+s+".>",
			"$JS.API.CONSUMER.MSG.NEXT.EVENTS."+s, "$JS.ACK.EVENTS."+s+".>",
		),
		Subscribe: []string{inbox(s) + ".>", "outbox." + s, "rpc.herald." + s + ".>"},
		Answers:   true,
	}
}

func inbox(user string) string { return "_INBOX_" + user }

// Password is a NATS user's password.
func Password(keys secret.Keys, user string) secret.Text {
	return secret.NewText(hex.EncodeToString(keys.Derive("nats/" + user)[:16]))
}
