package notification_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mail"
	"herald/shared/testkit/outside"
)

// Only the mail has the code, only the mail and its row have the person's data, and logs and metrics have neither.
func TestCodesAndPeopleAreNotLogged(t *testing.T) {
	t.Parallel()
	const theCode, name, address, phone = "CANARY2345", "Canaryfirst", "canary@secret.example", "+15550199"
	w := testworld.New(t, testworld.Setup{
		Relay: testworld.Guarded,
		Times: func(x *delivery.Times) { x.Spread = func(time.Duration) time.Duration { return time.Hour } },
	})
	w.Users.Prepares(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		p := testworld.Person(r)
		p.Code, p.FirstName, p.DisplayName, p.UserName, p.Recipient, p.LastPhone = theCode, name,
			name, name, address, phone
		if r.UserId == "broken" {
			p.Code = theCode + "?"
		}
		return p, nil
	})
	for _, step := range []struct {
		fault outside.MailFault
		until string
	}{
		{outside.MailFault{At: outside.Dot, Drop: true}, "attempts where state = 6"},
		{outside.MailFault{At: outside.Dot, Reply: "450 4.2.0 later: " + theCode + " " + address},
			"attempts where reply like '450 4.2.0%'"},
		{outside.MailFault{At: outside.RCPT, Reply: "550 5.1.1 nobody"}, "notifications where state = 5"},
		{outside.MailFault{At: outside.RCPT, Reply: "250 2.1.5 ok"}, "notifications where state = 3"},
	} {
		w.Relay.Script(step.fault)
		w.Users.Ask("ada")
		w.Until("exists (select from " + step.until + ")")
	}
	w.Users.Ask("broken")
	w.Until("exists (select from attempts where reply like 'the mail could not be prepared')")
	w.Accepted(1)

	tables := strings.Fields(w.Text("select string_agg(tablename, ' ') from pg_tables where schemaname = 'public'"))
	if len(tables) < 5 || w.Count("attempts where rendered::text like '%"+name+"%'") != 1 {
		t.Fatalf("the tables are %q, the attempts %s", tables, w.Dump("attempts"))
	}
	families, err := w.Service.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"logs": w.Logs.String(), "metrics": fmt.Sprint(families)}
	for _, table := range tables {
		places[table] = w.Text("select coalesce(string_agg((to_jsonb(r) - 'rendered' - 'recipient')::text, ''), '') " +
			"from " + table + " r")
		if strings.Contains(w.Dump(table), theCode) {
			t.Errorf("the code is in table %s", table)
		}
	}
	if !strings.Contains(places["logs"], "mail cannot be prepared") {
		t.Error("the log has nothing to look at")
	}
	for place, text := range places {
		for _, canary := range []string{theCode, name, address, phone, testworld.Guarded.Password} {
			if strings.Contains(text, canary) {
				t.Errorf("%s has %s", place, canary)
			}
		}
	}
}

// Names and addresses of people cannot add a recipient or a header.
func TestNamesAddNoRecipientOrHeader(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	w.Users.Prepares(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		p := testworld.Person(r)
		p.DisplayName, p.FirstName = "Ada\r\nBcc: eve@example.com\r\n\r\n<b>", "<script>{{.Code}}"
		if r.UserId != "ada" {
			p.Recipient = strings.TrimPrefix(r.UserId, "to:")
		}
		return p, nil
	})
	w.Users.Ask("ada")
	d := w.Accepted(1)[0]
	m := w.Parse(d)
	if len(d.To) != 1 || m.Header.Get("Bcc") != "" ||
		mail.AsTyped(m.Subject) != "init für Ada Bcc: eve@example.com <b>" {
		t.Errorf("sent as\n%s", d.Data)
	}
	if strings.Contains(m.HTML, "<script>") || !strings.Contains(m.Text, "Guten Tag <script>{{.Code}}\n") {
		t.Errorf("the greeting is in\n%s\n%s", m.Text, m.HTML)
	}
	for _, to := range []string{"a@example.com,b@example.com", "a@example.com\r\nRCPT TO:<b@example.com>",
		"<a@example.com>", "A <a@example.com>", ""} {
		w.Users.Ask("to:" + to)
	}
	w.Until("(select count(*) = 5 from notifications where state = 5)")
	if n := w.Relay.Count(outside.RCPT); n != 1 {
		t.Errorf("the relay got %d recipients", n)
	}
}
