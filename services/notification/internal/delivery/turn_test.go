package delivery_test

import (
	"slices"
	"strings"
	"testing"

	"herald/services/notification/internal/testworld"
	"herald/shared/resource"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// While the mails of an import wait, a mail of another organization is among the next ones that are sent. The same is
// true for a mail of another kind of the same organization.
func TestOthersDoNotWaitForAnImport(t *testing.T) {
	t.Parallel()
	w := testworld.Stopped(t, testworld.Setup{})
	const mails = 400
	queue(w, mails, 0)
	testkit.Run(w, w.Service)
	relayed(w, 20)
	others := []string{resource.NewID(), resource.NewID(), resource.NewID()}
	w.Exec(`insert into notifications (id, org_id, user_id, kind, state, created_at, due_at)
		select x.*, 1, now(), now() from unnest($1::text[], '{a,z,o1}'::text[], $1::text[],
			'{init,init,passwordreset}'::text[]) x`, others)
	seen := w.Relay.Count(outside.Dot)
	relayed(w, mails+len(others))
	all := w.Accepted(mails + len(others))
	for _, other := range others {
		place := slices.IndexFunc(all, func(d outside.Delivery) bool { return strings.Contains(d.MessageID, other) })
		if place < 0 || place > seen+20 { // eight are being sent, and there are four turns
			t.Errorf("a mail came as number %d, after %d were there when it was asked for", place, seen)
		}
	}
}
