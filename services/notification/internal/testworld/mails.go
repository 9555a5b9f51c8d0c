package testworld

import (
	"context"
	"strings"

	"herald/services/notification"
	"herald/shared/boot"
	"herald/shared/caller"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// Until waits until a condition on the notifications is true.
func (w *World) Until(condition string, args ...any) {
	w.Helper()
	testkit.Until(w, w.DB, "notifications", condition, args...)
}

// Finished waits until no mail is left to send.
func (w *World) Finished() {
	w.Helper()
	w.Until("not exists (select from notifications where due_at is not null)")
}

// Settled waits until a mail has its last state.
func (w *World) Settled(id string) *notificationv1.Notification {
	w.Helper()
	w.Until("exists (select from notifications where id = $1 and due_at is null)", id)
	for _, n := range w.List() {
		if n.Id == id {
			return n
		}
	}
	w.Fatalf("mail %s is not listed", id)
	return nil
}

// Story returns a mail's states as text: those of its attempts, then its own.
func Story(n *notificationv1.Notification) string {
	var states []string
	for _, a := range n.Attempts {
		states = append(states, short(a.State))
	}
	return strings.Join(states, " ") + ": " + short(n.State)
}

func short(s notificationv1.NotificationState) string {
	return strings.TrimPrefix(s.String(), "NOTIFICATION_STATE_")
}

// List returns the mails to ada, read as the owner of her organization.
func (w *World) List() []*notificationv1.Notification {
	w.Helper()
	r, err := w.ListNotifications(w.As("ORG_OWNER"), &notificationv1.ListNotificationsRequest{UserId: "ada"})
	if err != nil {
		w.Fatal(err)
	}
	return r.Result
}

// As returns the context of a caller with a role in o1.
func (w *World) As(role string) context.Context {
	return testkit.Member(w.Context(), w.Ground, "boss", "o1", role)
}

// TestMail sends a test mail as an owner of the instance whose request acts on another organization.
func (w *World) TestMail(ctx context.Context, recipient string) (*notificationv1.Notification, error) {
	w.Helper()
	r, err := w.SendTestMail(w.Instance(ctx, "IAM_OWNER"), &notificationv1.SendTestMailRequest{Recipient: recipient})
	return r.GetNotification(), err
}

// Instance returns the context of ada of o1 with a role in the instance, whose request acts on another organization.
func (w *World) Instance(ctx context.Context, role string) context.Context {
	return testkit.As(ctx, w.Ground, caller.Caller{
		UserID: "ada", OrganizationID: "o2", HomeOrganizationID: "o1",
		Memberships: []caller.Membership{{Roles: []string{role}}},
	})
}

// Set replaces how mails are sent.
func (w *World) Set(r *notificationv1.SetSmtpRequest) *notificationv1.SetSmtpResponse {
	w.Helper()
	set, err := w.SetSmtp(w.Instance(w.Context(), "IAM_OWNER"), r)
	if err != nil {
		w.Fatal(err)
	}
	return set
}

// ByAPI removes what the environment of a replica says about how mails are sent.
func ByAPI(c *notification.Config) { c.SMTP, c.MailFrom = secret.Text{}, "" }

// Tried is like TestMail, and fails the test if there is no outcome.
func (w *World) Tried(recipient string) *notificationv1.Notification {
	w.Helper()
	n, err := w.TestMail(w.Context(), recipient)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// Accepted waits until the mail server has accepted n mails and fails if it has more.
func (w *World) Accepted(n int) []outside.Delivery {
	w.Helper()
	got, err := w.Relay.Wait(w.Context(), n)
	if err != nil || len(got) != n {
		w.Fatalf("%d mails accepted, %v, want %d", len(got), err, n)
	}
	return got
}

// SentOnce fails the test unless each of n mails was accepted once and is recorded as sent.
func (w *World) SentOnce(n int) {
	w.Helper()
	for _, d := range w.Accepted(n) {
		if d.Repeat != 0 {
			w.Errorf("%s was sent twice", d.MessageID)
		}
	}
	state := notificationv1.NotificationState_NOTIFICATION_STATE_SENT
	if sent := w.Count("notifications where state = $1", state); sent != n {
		w.Errorf("%d of %d mails are recorded as sent", sent, n)
	}
}

// Reached waits until sessions at the mail server have reached a step n times.
func (w *World) Reached(at outside.Verb, n int) {
	w.Helper()
	if err := w.Relay.Reached(w.Context(), at, n); err != nil {
		w.Fatalf("%d times at %s, want %d: %v", w.Relay.Count(at), at, n, err)
	}
}

// Parse returns the parts of a mail.
func (w *World) Parse(d outside.Delivery) outside.Message {
	w.Helper()
	m, err := d.Parse()
	if err != nil {
		w.Fatal(err)
	}
	return m
}

// Counted returns a replica's herald_mails_total.
func (w *World) Counted(s *boot.Service, outcome string) (n float64) {
	w.Helper()
	families, err := s.Metrics.Gather()
	if err != nil {
		w.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == "herald_mails_total" && m.Label[0].GetValue() == outcome {
				n += m.Counter.GetValue()
			}
		}
	}
	return n
}

// Exec executes a statement.
func (w *World) Exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.DB.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

// Count returns the number of rows of a table, with a condition after its name.
func (w *World) Count(from string, args ...any) int {
	w.Helper()
	return testkit.Rows(w, w.DB, from, args...)
}

// Text returns the single value of a query.
func (w *World) Text(query string) (text string) {
	w.Helper()
	if err := w.DB.QueryRow(w.Context(), query).Scan(&text); err != nil {
		w.Fatal(err)
	}
	return text
}

// Dump returns a table as text.
func (w *World) Dump(table string) string {
	w.Helper()
	return w.Text("select coalesce(string_agg(r::text, E'\n'), '') from " + table + " r")
}
