package notification

import (
	"slices"
	"strings"
	"testing"

	"herald/shared/resource"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// While the mails of an import wait, a mail of another organization is among the next ones that are sent. The same is
// true for a mail of another kind of the same organization.
func TestOthersDoNotWaitForAnImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{unwatched: true})
	const mails = 400
	w.queue(mails, 0)
	testkit.Run(w, w.service)
	w.relayed(20)
	others := []string{resource.NewID(), resource.NewID(), resource.NewID()}
	if _, err := w.db.Exec(t.Context(),
		`insert into notifications (id, org_id, user_id, kind, state, created_at, due_at)
		select x.*, 1, now(), now() from unnest($1::text[], '{a,z,o1}'::text[], $1::text[],
			'{init,init,passwordreset}'::text[]) x`, others); err != nil {
		t.Fatal(err)
	}
	seen := w.relay.Count(outside.Dot)
	w.relayed(mails + len(others))
	all := w.accepted(mails + len(others))
	for _, other := range others {
		place := slices.IndexFunc(all, func(d outside.Delivery) bool { return strings.Contains(d.MessageID, other) })
		if place < 0 || place > seen+20 { // eight are being sent, and there are four turns
			t.Errorf("a mail came as number %d, after %d were there when it was asked for", place, seen)
		}
	}
}
