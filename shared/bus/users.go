package bus

import (
	"encoding/hex"
	"slices"

	"herald/shared/contract"
	"herald/shared/secret"
)

// Gateway, Subscriber and Operator are the NATS users that are not services.
const (
	Gateway    = "gateway"
	Subscriber = "subscriber"
	// Operator publishes again events that a service put aside in the stream DEAD.
	Operator = "operator"
)

// User is a NATS user with its permissions: the same in the all-in-one, in tests and in a cluster.
type User struct {
	Name      string
	Publish   []string
	Subscribe []string
	// Answers allows one reply to each request received.
	Answers bool
}

// Users returns the NATS users with the permissions that the contracts give them: a service may
// send to an internal method only if the method's option `internal` names it.
func Users() ([]User, error) {
	services, calls, err := read()
	if err != nil {
		return nil, err
	}
	gateway, early, err := wakeUps()
	if err != nil {
		return nil, err
	}
	users := []User{
		{Name: Gateway, Publish: calls[Gateway], Subscribe: append(gateway, inbox(Gateway)+".>", "events.>")},
		{Name: Subscriber, Subscribe: []string{"events.>"}},
		{Name: Operator, Publish: []string{
			"events.>", "$JS.API.STREAM.INFO.DEAD", "$JS.API.DIRECT.GET.DEAD", "$JS.API.STREAM.MSG.DELETE.DEAD",
		}, Subscribe: []string{inbox(Operator) + ".>"}},
	}
	for _, s := range services {
		users = append(users, serviceUser(s, calls[s], early[s]))
	}
	return users, nil
}

// Services returns the names of Herald's services, read from the contracts.
func Services() ([]string, error) {
	services, _, err := read()
	return services, err
}

// read returns the services of the contracts, and the subjects that each NATS user may call.
func read() (services []string, calls map[string][]string, err error) {
	methods, err := contract.AllMethods()
	if err != nil {
		return nil, nil, err
	}
	calls = map[string][]string{}
	for _, m := range methods {
		services = append(services, m.Owner())
		callers := m.Access.Internal
		if !m.Internal() {
			callers = append([]string{Gateway}, m.Access.Forwarded...)
		}
		for _, name := range callers {
			calls[name] = append(calls[name], m.Subject())
			if m.Safe() {
				calls[name] = append(calls[name], m.Again())
			}
			if name != Gateway {
				services = append(services, name)
			}
		}
	}
	slices.Sort(services)
	return slices.Compact(services), calls, nil
}

// wakeUps returns the subjects of wake-ups that others than their own service listen to: the gateway, which
// must drop cached callers after some events, and by its name each service that handles some early.
func wakeUps() (gateway []string, early map[string][]string, err error) {
	events, err := contract.LinkedEvents()
	early = map[string][]string{}
	for _, e := range events {
		subject, service := "outbox."+e.Service, e.Option.GetEarlyFor()
		if e.EndsCallers() && !slices.Contains(gateway, subject) {
			gateway = append(gateway, subject)
		}
		if service != "" && !slices.Contains(early[service], subject) {
			early[service] = append(early[service], subject)
		}
	}
	return gateway, early, err
}

func serviceUser(s string, calls, early []string) User {
	return User{
		Name: s,
		Publish: append(calls,
			"events."+s+".>", "dead."+s+".>", "outbox."+s,
			"$JS.API.INFO", "$JS.API.STREAM.INFO.*",
			"$JS.API.STREAM.CREATE.EVENTS", "$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.CREATE.DEAD",
			"$JS.API.STREAM.UPDATE.DEAD",
			// Every relay asks which services lag behind the stream.
			"$JS.API.CONSUMER.LIST.EVENTS", "$JS.API.DIRECT.GET.EVENTS",
			"$JS.API.CONSUMER.INFO.EVENTS."+s, "$JS.API.CONSUMER.CREATE.EVENTS."+s,
			"$JS.API.CONSUMER.CREATE.EVENTS."+s+".>",
			"$JS.API.CONSUMER.MSG.NEXT.EVENTS."+s, "$JS.ACK.EVENTS."+s+".>",
		),
		Subscribe: append(early,
			inbox(s)+".>", "outbox."+s, "rpc.herald."+s+".>", "again.herald."+s+".>"),
		Answers: true,
	}
}

func inbox(user string) string { return "_INBOX_" + user }

// Purpose is for what the password of a user is derived.
func Purpose(user string) string { return "nats/" + user }

// Password returns a NATS user's password, which is derived from the master key.
func Password(keys secret.Keys, user string) secret.Text {
	return secret.NewText(hex.EncodeToString(keys.Derive(Purpose(user))[:16]))
}
