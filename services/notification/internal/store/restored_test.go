package store_test

import (
	"testing"
	"time"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/mail"
	"herald/shared/testkit"
)

// After a restore from a backup no mail is sent that may have been sent already: neither what waited, nor what an
// earlier event asks for. Later events have their mails.
func TestRestoreSendsNoMailAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("waits")
	w.exec(`insert into attempts (notification_id, number, time, state, reply, rendered)
		values ('waits', 1, now(), 1, '', '{}')`)
	w.queue("is sent")
	w.exec(`update notifications set state = $1, due_at = null where id = 'is sent'`, domain.Sent)
	for _, r := range store.Restored {
		tag, err := w.db.Exec(t.Context(), r.SQL)
		if err != nil || tag.RowsAffected() != 1 {
			t.Errorf("%s: %d, %v", r.What, tag.RowsAffected(), err)
		}
	}
	w.queue("came late")
	if due := w.claim(5, time.Minute); len(due) != 0 {
		t.Errorf("%+v are sent", due)
	}
	for id, want := range map[string]domain.State{
		"waits": domain.Uncertain, "came late": domain.Uncertain, "is sent": domain.Sent,
	} {
		if n, err := w.Notification(t.Context(), "o1", "u1", id); err != nil || n.State != want {
			t.Errorf("the mail that %s has the state %d, not %d, %v", id, n.State, want, err)
		}
	}
	if n := testkit.Rows(t, w.db, "attempts where rendered is not null"); n != 0 {
		t.Errorf("the texts of %d mails are kept", n)
	}
	_, err := w.Queue(t.Context(), domain.Notification{ID: "later", OrgID: "o1", UserID: "u1", Kind: mail.Init,
		CreatedAt: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.one(time.Minute); n.ID != "later" {
		t.Errorf("%s is sent", n.ID)
	}
}
