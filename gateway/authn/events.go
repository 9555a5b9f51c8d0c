package authn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// listen subscribes to the news of users, who alone knows roles, states and personal
// access tokens.
func (a *Authenticator) listen() error {
	if _, err := a.Conn.Subscribe("events.users.>", func(m *nats.Msg) { a.hear(m) }); err != nil {
		return fmt.Errorf("subscribe to events: %w", err)
	}
	return a.Conn.Flush() // from here on no change goes unheard
}

// hear drops whom an event is about, or everybody where it does not say or is not
// known here.
func (a *Authenticator) hear(m *nats.Msg) {
	subject := strings.Split(m.Subject, ".") // events.users.<aggregate>.<event>.<organization>
	if len(subject) < 4 {
		return
	}
	var payload struct {
		UserID string `json:"userId"`
	}
	switch subject[2] + "." + subject[3] {
	case "human.created", "human.imported", "machine.created", "org.created", "pat.added":
		return // nobody who was known before is another now
	}
	switch subject[2] {
	case "human", "machine":
		payload.UserID = m.Header.Get("ce-subject")
	case "member", "pat":
		if json.Unmarshal(m.Data, &payload) != nil {
			payload.UserID = ""
		}
	}
	a.known.drop(payload.UserID)
}
