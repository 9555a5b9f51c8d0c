package notification

import (
	"context"
	"strings"
	"time"

	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// until waits until a query about the notifications returns true.
func (w *world) until(condition string, args ...any) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 30*time.Second)
	defer cancel()
	listener, err := w.db.Acquire(ctx)
	if err != nil {
		w.Fatal(err)
	}
	defer listener.Release()
	if _, err := listener.Exec(ctx, "listen changed"); err != nil {
		w.Fatal(err)
	}
	for {
		var met bool
		if err := listener.QueryRow(ctx, "select "+condition, args...).Scan(&met); err != nil {
			w.Fatalf("%s: %v", condition, err)
		}
		if met {
			return
		}
		if _, err := listener.Conn().WaitForNotification(ctx); err != nil {
			w.Fatalf("until %s: %v; there is\n%s", condition, err, w.dump("notifications"))
		}
	}
}

// settled waits until a mail has its last state.
func (w *world) settled(id string) *notificationv1.Notification {
	w.Helper()
	w.until("exists (select from notifications where id = $1 and due_at is null)", id)
	for _, n := range w.list(w.Context()) {
		if n.Id == id {
			return n
		}
	}
	w.Fatalf("mail %s is not listed", id)
	return nil
}

// story returns a mail's states as text: those of its attempts, then its own.
func story(n *notificationv1.Notification) string {
	var states []string
	for _, a := range n.Attempts {
		states = append(states, short(a.State))
	}
	return strings.Join(states, " ") + ": " + short(n.State)
}

func short(s notificationv1.NotificationState) string {
	return strings.TrimPrefix(s.String(), "NOTIFICATION_STATE_")
}

// list returns the mails to ada, read as the owner of her organization.
func (w *world) list(ctx context.Context) []*notificationv1.Notification {
	w.Helper()
	r, err := w.gateway.ListNotifications(w.as(ctx, "o1", "ORG_OWNER"),
		&notificationv1.ListNotificationsRequest{UserId: "ada"})
	if err != nil {
		w.Fatal(err)
	}
	return r.Result
}

func (w *world) as(ctx context.Context, orgID string, roles ...string) context.Context {
	return testkit.Member(ctx, w.ground, "boss", orgID, roles...)
}

// accepted waits until the relay has accepted n mails and fails if it has more.
func (w *world) accepted(n int) []outside.Delivery {
	w.Helper()
	got, err := w.relay.Wait(w.Context(), n)
	if err != nil || len(got) != n {
		w.Fatalf("%d mails accepted, %v, want %d", len(got), err, n)
	}
	return got
}

func (w *world) parse(d outside.Delivery) outside.Message {
	w.Helper()
	m, err := d.Parse()
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// dump returns a table as text.
func (w *world) dump(table string) (text string) {
	w.Helper()
	if err := w.db.QueryRow(w.Context(), "select coalesce(string_agg(r::text, E'\n'), '') from "+table+" r").
		Scan(&text); err != nil {
		w.Fatal(err)
	}
	return text
}

// count returns the number of rows of a table, with a condition after its name.
func (w *world) count(from string) int {
	w.Helper()
	return testkit.Rows(w, w.db, from)
}

// text returns the single value of a query.
func (w *world) text(query string) (text string) {
	w.Helper()
	if err := w.db.QueryRow(w.Context(), query).Scan(&text); err != nil {
		w.Fatal(err)
	}
	return text
}
