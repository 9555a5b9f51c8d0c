package authn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"herald/shared/permission"
)

// listen subscribes to the news of users, who alone knows roles, states and personal
// access tokens. Whichever of the two comes first counts.
func (a *Authenticator) listen() error {
	for _, subject := range []string{"outbox.users", "events.users.>"} { // right after the commit, and for certain
		if _, err := a.Conn.Subscribe(subject, func(m *nats.Msg) { a.hear(m) }); err != nil {
			return fmt.Errorf("subscribe to events: %w", err)
		}
	}
	return a.Conn.Flush() // from here on no change goes unheard
}

// hear drops whom an event is about, or everybody where it does not say or is not
// known here.
func (a *Authenticator) hear(m *nats.Msg) {
	kind := strings.Split(m.Header.Get("ce-type"), ".") // herald.users.<aggregate>.<event>.v1
	if len(kind) < 4 {
		return
	}
	var payload struct {
		UserID    string   `json:"userId"`
		ProjectID string   `json:"projectId"`
		Roles     []string `json:"roles"`
	}
	switch kind[2] + "." + kind[3] {
	case "human.created", "human.imported", "machine.created", "org.created", "pat.added":
		return // nobody who was known before is another now
	}
	switch kind[2] {
	case "human", "machine":
		payload.UserID = m.Header.Get("ce-subject")
	case "member", "pat":
		if json.Unmarshal(m.Data, &payload) != nil {
			payload.UserID = ""
		}
	}
	if payload.UserID != "" && kind[2]+"."+kind[3] == "member.added" {
		added := permission.Membership{OrganizationID: m.Header.Get("ce-organization"), ProjectID: payload.ProjectID, Roles: payload.Roles}
		if a.known.covers(payload.UserID, added) {
			return // whoever owns an organization owns all its projects already
		}
	}
	a.known.drop(drop{m.Header.Get("ce-id"), payload.UserID})
}
