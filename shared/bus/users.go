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
	// Operator is the user that redrives dead letters: it publishes their events again. A restore removes the stream of
	// events as this user.
	Operator = "operator"
)

// User is a NATS user with its permissions. They are the same in the all-in-one, in tests and in a cluster.
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
	listens, err := listeners()
	if err != nil {
		return nil, err
	}
	users := []User{
		{Name: Gateway, Publish: calls[Gateway], Subscribe: append(listens[Gateway], inbox(Gateway)+".>")},
		{Name: Subscriber, Subscribe: []string{"events.>"}},
		{Name: Operator, Publish: []string{
			"events.>", "$JS.API.STREAM.INFO.DEAD", "$JS.API.DIRECT.GET.DEAD", "$JS.API.STREAM.MSG.DELETE.DEAD",
			"$JS.API.STREAM.DELETE.EVENTS",
		}, Subscribe: []string{inbox(Operator) + ".>"}},
	}
	for _, s := range services {
		users = append(users, serviceUser(s, calls[s], listens[s]))
	}
	return users, nil
}

// Services returns the names of Herald's services, read from the contracts.
func Services() ([]string, error) {
	services, _, err := read()
	return services, err
}

// read returns the services in the contracts, and the subjects to which each NATS user may send requests.
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
				calls[name] = append(calls[name], m.HedgeSubject())
			}
			if name != Gateway {
				services = append(services, name)
			}
		}
	}
	slices.Sort(services)
	return slices.Compact(services), calls, nil
}

// keepers are the NATS users that cache answers until an event changes them. The gateway caches the callers of
// tokens. The service auth caches what it answers about tokens.
var keepers = []string{Gateway, "auth"}

// listeners returns, by NATS user, the subjects of other services' events that the user may subscribe to without the
// stream. A keeper gets all events of a service that has events that end callers, because it must know of them at
// once. A service gets the wake-ups of each service whose events it handles early.
func listeners() (map[string][]string, error) {
	events, err := contract.LinkedEvents()
	all := map[string][]string{}
	add := func(user, subject string) {
		if !slices.Contains(all[user], subject) {
			all[user] = append(all[user], subject)
		}
	}
	for _, e := range events {
		if e.EndsCallers() {
			for _, k := range keepers {
				add(k, "events."+e.Service+".>")
				if k != e.Service {
					add(k, contract.WakeSubject(e.Service))
				}
			}
		}
		if service := e.Option.GetEarlyFor(); service != "" {
			add(service, contract.WakeSubject(e.Service))
		}
	}
	return all, err
}

func serviceUser(s string, calls, listens []string) User {
	return User{
		Name: s,
		Publish: append(calls,
			"events."+s+".>", "dead."+s+".>", contract.WakeSubject(s),
			"$JS.API.INFO", "$JS.API.STREAM.INFO.*",
			"$JS.API.STREAM.CREATE.EVENTS", "$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.CREATE.DEAD",
			"$JS.API.STREAM.UPDATE.DEAD",
			// Every relay asks which services lag behind the stream.
			"$JS.API.CONSUMER.LIST.EVENTS", "$JS.API.DIRECT.GET.EVENTS",
			"$JS.API.CONSUMER.INFO.EVENTS."+s, "$JS.API.CONSUMER.CREATE.EVENTS."+s,
			"$JS.API.CONSUMER.CREATE.EVENTS."+s+".>",
			"$JS.API.CONSUMER.MSG.NEXT.EVENTS."+s, "$JS.ACK.EVENTS."+s+".>",
		),
		Subscribe: append(listens,
			inbox(s)+".>", contract.WakeSubject(s), "rpc.herald."+s+".>", "again.herald."+s+".>"),
		Answers: true,
	}
}

func inbox(user string) string { return "_INBOX_" + user }

// Purpose is the key purpose from which a user's password is derived.
func Purpose(user string) string { return "nats/" + user }

// Password returns a NATS user's password, which is derived from the master key.
func Password(keys secret.Keys, user string) secret.Text {
	return secret.NewText(hex.EncodeToString(keys.Derive(Purpose(user))[:16]))
}
