package notification_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"herald/services/notification/internal/testworld"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailer"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Main(m)) }

// An event leads to a mail in the mailbox.
func TestEventBecomesAMail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	id := w.Users.Ask("ada")
	d := w.Accepted(1)[0]
	m := w.Parse(d)
	got := append([]string{d.From, d.MessageID, m.Subject}, d.To...)
	want := []string{
		"no-reply@example.com", "<" + id + "@login.example.com>", "init für Ada Lovelace", "ada@example.com",
	}
	if !slices.Equal(got, want) {
		t.Errorf("envelope %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"From": `"Herald" <no-reply@example.com>`, "To": "<ada@example.com>", "Auto-Submitted": "auto-generated",
		"Content-Language": "de",
	} {
		if got := m.Header.Get(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	link := "https://login.example.com/ui/login/user/init?userID=ada&code=" + testworld.Code(id) +
		"&orgID=o1&passwordset=false&lang=de"
	for _, want := range []string{
		"Guten Tag Ada\n", "\nPasswort setzen\n" + link + "\n\n" + testworld.Code(id) + "\n\nIhr Analytical & Co\n",
		"Lovelace|Countess|ada.\u202fl|ada.\u202fl|ada.\u202fl|ada.\u202fl|ada@example.com||+41791234567||ada|o1|" +
			"21. November 2026|21. November 2026|" +
			"24. November 2026|" + testworld.Code(id) + "\n",
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
	n := w.Settled(id)
	const sent = notificationv1.NotificationState_NOTIFICATION_STATE_SENT
	testkit.Equal(t, n, &notificationv1.Notification{
		Id: id, Kind: "init", State: sent, Language: "de", Recipient: "ada@example.com",
		Attempts: []*notificationv1.Attempt{{Time: n.Attempts[0].Time, State: sent, Reply: "250 2.0.0 accepted"}},
	})
	if got := w.Counted(w.Service, "sent"); got != 1 {
		t.Errorf("herald_mails_total counts %v", got)
	}
}

// A notice has no link and no code.
func TestEventBecomesANotice(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	id := mailer.NoticeID(w.Users.Publish("ada", &usersv1.HumanPasswordChanged{Notice: "passwordchanged"}))
	if n := w.Settled(id); n.Kind != "passwordchanged" || testworld.Story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	m := w.Parse(w.Accepted(1)[0])
	for _, part := range []string{"http", testworld.Code(id)} {
		if strings.Contains(m.Text+m.HTML, part) {
			t.Errorf("a notice with %q:\n%s", part, m.Text)
		}
	}
}
