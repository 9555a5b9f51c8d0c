package notification

import (
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"herald/shared/boot"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// An event leads to a mail in the mailbox.
func TestMail(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	id := w.people.ask("ada")
	d := w.accepted(1)[0]
	m := w.parse(d)
	if d.From != "no-reply@example.com" || len(d.To) != 1 || d.To[0] != "ada@example.com" || d.MessageID != "<"+
		id+"@login.example.com>" {
		t.Errorf("envelope %+v", d)
	}
	for name, want := range map[string]string{
		"From": `"Herald" <no-reply@example.com>`, "To": "<ada@example.com>", "Auto-Submitted": "auto-generated",
		"Content-Language": "de",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if m.Subject != "Konto für Ada Lovelace" {
		t.Errorf("subject %q", m.Subject)
	}
	link := "https://login.example.com/ui/login/user/init?userID=ada&code=" + code(id) +
		"&orgID=o1&passwordset=false&lang=de"
	for _, want := range []string{
		"Guten Tag Ada\n", "\nPasswort setzen\n" + link + "\n\n" + code(id) + "\n\nIhr Analytical & Co\n",
		"Lovelace|Countess|ada.l|ada.l|ada.l|ada.l|ada@example.com||+41791234567||ada|o1|" +
			"21. November 2026, 08:00 Uhr (UTC)|21. November 2026, 08:01 Uhr (UTC)|" +
			"24. November 2026, 08:00 Uhr (UTC)|" + code(id) + "\n",
	} {
		if !strings.Contains(m.Text, want) {
			t.Errorf("the text part\n%s\nlacks\n%s", m.Text, want)
		}
	}
	for _, want := range []string{
		`href="` + strings.ReplaceAll(link, "&", "&amp;") + `"`, "Analytical &amp; Co", `lang="de"`,
	} {
		if !strings.Contains(m.HTML, want) {
			t.Errorf("the HTML part lacks %s", want)
		}
	}
	n := w.settled(id)
	if story(n) != "SENT: SENT" || n.Kind != "init" || n.Language != "de" || n.Recipient != "ada@example.com" ||
		n.Attempts[0].Reply != "250 2.0.0 accepted" {
		t.Errorf("listed as %v", n)
	}
	if got := counted(t, w.service, "sent"); got != 1 {
		t.Errorf("herald_mails_total counts %v", got)
	}
}

// counted returns a replica's herald_mails_total.
func counted(t testing.TB, s *boot.Service, outcome string) (n float64) {
	t.Helper()
	families, err := s.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
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

// Clients choose ids: no id can change other parts of the link.
func TestLinkIsEscaped(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	w.people.answers(func(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
		p := person(r)
		p.PasswordSet, p.OrgId = true, "o&1=+ #"
		return p, nil
	})
	user := "a&code=X\"<{{.Code}}"
	id := w.people.ask(user)
	text := w.parse(w.accepted(1)[0]).Text
	at := strings.Index(text, "https://")
	link, _, _ := strings.Cut(text[at:], "\n")
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	want := url.Values{"userID": {user}, "code": {code(id)}, "orgID": {"o&1=+ #"}, "passwordset": {"true"},
		"lang": {"de"}}
	if u.Host != "login.example.com" || u.Path != "/ui/login/user/init" || u.Query().Encode() != want.Encode() {
		t.Errorf("link %s", link)
	}
}

// Events that ask for a mail, and events that do not.
func TestEventsThatAskForMails(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	const queued, needless = usersv1.InitMail_INIT_MAIL_QUEUED, usersv1.InitMail_INIT_MAIL_NOT_NEEDED
	w.people.happen("ada", &usersv1.HumanCreated{InitMail: needless})
	w.people.happen("ada", &usersv1.HumanImported{InitMail: needless})
	w.people.happen("ada", &usersv1.HumanImported{})
	w.people.happen("ada", &usersv1.HumanInitialized{})
	for range 2 {
		w.people.happen("ada", &usersv1.HumanCreated{InitMail: queued})
		w.people.happen("ada", &usersv1.HumanImported{InitMail: queued})
		w.people.happen("ada", &usersv1.HumanInitializationRequested{InitMail: queued})
	}
	last := w.people.ask("ada") // events about one user come in order
	w.settled(last)
	for _, d := range w.accepted(7) {
		if d.Repeat != 0 {
			t.Errorf("%s was sent twice", d.MessageID)
		}
	}
}

// An event that is delivered again makes no second mail, before and after its mail was sent.
func TestRepeatedEvent(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	sub := w.subscribe("events.>")
	first := w.people.ask("ada")
	event, err := sub.NextMsgWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again := func() {
		t.Helper()
		event.Header.Set(nats.MsgIdHdr, resource.NewID()) // JetStream drops an event whose id it knows
		if _, err := w.people.service.JS.PublishMsg(t.Context(), &nats.Msg{Subject: event.Subject, Header: event.Header,
			Data: event.Data}); err != nil {
			t.Fatal(err)
		}
	}
	again()
	w.settled(first)
	again()
	w.settled(w.people.ask("ada"))
	w.accepted(2)
}

func TestList(t *testing.T) {
	t.Parallel()
	w := startWorld(t, setup{})
	first, second := w.people.ask("ada"), w.people.ask("ada")
	w.settled(first)
	w.settled(second)
	ask := func(orgID, role string, r *notificationv1.ListNotificationsRequest) (
		*notificationv1.ListNotificationsResponse, error) {
		return w.gateway.ListNotifications(w.as(t.Context(), orgID, role), r)
	}
	page, err := ask("o1", "ORG_USER_MANAGER", &notificationv1.ListNotificationsRequest{
		UserId: "ada", Query: &heraldv1.ListQuery{Limit: 1, Offset: 1, Asc: true},
	})
	if err != nil || page.Details.TotalResult != 2 || len(page.Result) != 1 || page.Result[0].Id != second ||
		page.Details.ViewTimestamp == nil {
		t.Errorf("the second page: %v, %v", page, err)
	}
	if newest := w.list(t.Context()); len(newest) != 2 || newest[0].Id != second {
		t.Errorf("in the default order: %v", newest)
	}
	_, err = ask("o1", "ORG_OWNER", &notificationv1.ListNotificationsRequest{
		UserId: "ada", Query: &heraldv1.ListQuery{Limit: 51},
	})
	w.refused(err, "LIMIT_EXCEEDED", fault.Invalid)
}
