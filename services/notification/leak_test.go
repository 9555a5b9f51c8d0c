package notification

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/smtp"
	"herald/shared/boot"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/search"
	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

// Hostile case 21: only the mail has the code, only the mail and its row have the person's data, and
// logs and metrics have neither.
func TestCodesAndPeopleAreNotLogged(t *testing.T) {
	t.Parallel()
	const theCode, name, address, phone = "CANARY2345", "Canaryfirst", "canary@secret.example", "+15550199"
	w := startWorld(t, setup{
		relay: guarded,
		times: func(x *delivery.Times) { x.Spread = func(time.Duration) time.Duration { return time.Hour } },
	})
	w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		p := person(r)
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
		{outside.MailFault{At: outside.Dot, Reply: "450 4.2.0 later"}, "attempts where reply like '450%'"},
		{outside.MailFault{At: outside.RCPT, Reply: "550 5.1.1 nobody"}, "notifications where state = 5"},
		{outside.MailFault{At: outside.RCPT, Reply: "250 2.1.5 ok"}, "notifications where state = 3"},
	} {
		w.relay.Script(step.fault)
		w.people.ask("ada")
		w.until("exists (select from " + step.until + ")")
	}
	w.people.ask("broken")
	w.until("exists (select from attempts where reply like 'the mail could not be prepared')")
	w.accepted(1)

	tables := strings.Fields(w.text("select string_agg(tablename, ' ') from pg_tables where schemaname = 'public'"))
	if len(tables) < 5 || w.count("attempts where rendered::text like '%"+name+"%'") != 1 {
		t.Fatalf("the test looks at %q, %s", tables, w.dump("attempts"))
	}
	families, err := w.service.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"logs": w.logs.String(), "metrics": fmt.Sprint(families)}
	for _, table := range tables {
		places[table] = w.text("select coalesce(string_agg((to_jsonb(r) - 'rendered' - 'recipient')::text, ''), '') " +
			"from " + table + " r")
		if strings.Contains(w.dump(table), theCode) {
			t.Errorf("the code is in table %s", table)
		}
	}
	if !strings.Contains(places["logs"], "mail cannot be prepared") {
		t.Error("the log has nothing to look at")
	}
	for place, text := range places {
		for _, canary := range []string{theCode, name, address, phone, guarded.Password} {
			if strings.Contains(text, canary) {
				t.Errorf("%s has %s", place, canary)
			}
		}
	}
}

// Hostile case 14: names and addresses of people cannot add a recipient or a header.
func TestNamesAddNoRecipientOrHeader(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		p := person(r)
		p.DisplayName, p.FirstName = "Ada\r\nBcc: eve@example.com\r\n\r\n<b>", "<script>{{.Code}}"
		if r.UserId != "ada" {
			p.Recipient = strings.TrimPrefix(r.UserId, "to:")
		}
		return p, nil
	})
	w.people.ask("ada")
	d := w.accepted(1)[0]
	m := w.parse(d)
	if len(d.To) != 1 || m.Header.Get("Bcc") != "" || m.Subject != "Konto für Ada Bcc: eve@example.com <b>" {
		t.Errorf("sent as\n%s", d.Data)
	}
	if strings.Contains(m.HTML, "<script>") || !strings.Contains(m.Text, "Guten Tag <script>{{.Code}}\n") {
		t.Errorf("the greeting is in\n%s\n%s", m.Text, m.HTML)
	}
	for _, to := range []string{"a@example.com,b@example.com", "a@example.com\r\nRCPT TO:<b@example.com>",
		"<a@example.com>", "A <a@example.com>", ""} {
		w.people.ask("to:" + to)
	}
	w.until("(select count(*) = 5 from notifications where state = 5)")
	if n := w.relay.Count(outside.RCPT); n != 1 {
		t.Errorf("the relay was told %d recipients", n)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	good := Config{
		SMTP: secret.NewText("smtp://mail.example.com:25"), MailFrom: "Herald <herald@localhost>",
		Limit: search.Limit{MaxLimit: 1000},
	}
	for name, c := range map[string]func(*Config){
		"HERALD_SMTP_URL is not set":   func(c *Config) { c.SMTP = secret.Text{} },
		"HERALD_SMTP_URL: the address": func(c *Config) { c.SMTP = secret.NewText("mail.example.com") },
		"HERALD_MAIL_FROM: ":           func(c *Config) { c.MailFrom = "Herald" },
		"HERALD_MAIL_REPLY_TO: ":       func(c *Config) { c.ReplyTo = "Help <help@example.com>, x@example.com" },
	} {
		bad := good
		c(&bad)
		if err := New(context.WithoutCancel(t.Context()), w.service, bad); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for host, want := range map[string]string{
		"localhost:8080": "localhost", "xn--bro-hoa.example": "xn--bro-hoa.example", "[::1]:8443": "[IPv6:::1]",
	} {
		got := mailDomain(&url.URL{Scheme: "https", Host: host})
		if got != want {
			t.Errorf("%s: %q", host, got)
		}
		m := smtp.Mail{MessageID: "1@" + got, From: good.MailFrom, To: "a@example.com", Date: born}
		relay := outside.StartMailServer(t, outside.MailConfig{})
		r, err := smtp.NewRelay(secret.NewText(relay.URL()))
		if err != nil {
			t.Fatal(err)
		}
		if sent := r.Send(t.Context(), m, func(context.Context) error { return nil }); sent.Outcome != smtp.Sent {
			t.Errorf("%s: %+v", host, sent)
		}
		r.Close()
	}
}

// The addresses in the help of the settings are valid.
func TestHelpShowsEachForm(t *testing.T) {
	t.Parallel()
	settings, err := boot.Settings(&Config{})
	if err != nil {
		t.Fatal(err)
	}
	help := settings[slices.IndexFunc(settings, func(s boot.Setting) bool { return s.Name == "HERALD_SMTP_URL" })].Help
	forms := 0
	for word := range strings.FieldsFuncSeq(help, func(r rune) bool { return strings.ContainsRune(" ,;", r) }) {
		_, host, ok := strings.Cut(word, "://")
		if !ok || host == "" {
			continue
		}
		forms++
		if _, err := smtp.NewRelay(secret.NewText(word)); err != nil {
			t.Errorf("%s: %v", word, err)
		}
	}
	if forms != 3 {
		t.Errorf("%d addresses in %q", forms, help)
	}
	for _, option := range []string{"?starttls=required", "?starttls=off", "?ca=FILE"} {
		if !strings.Contains(help, option) {
			t.Errorf("%q does not tell %s", help, option)
		}
	}
}
