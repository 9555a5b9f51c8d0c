package notification_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/notification/internal/testworld"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
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

// ending answers PrepareMail with what ends soon.
func ending(r *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
	m := testworld.Person(r)
	m.Code, m.Expiry = "", nil
	m.Expirations = []*heraldv1.Expiration{{
		Kind: heraldv1.ExpirationKind_EXPIRATION_KIND_MACHINE_KEY, Name: "deploy.example", OwnerId: "robot",
		ExpirationDate: timestamppb.New(m.CreationDate.AsTime().AddDate(0, 0, 7)),
	}}
	m.FurtherExpirations = 480
	return m, nil
}

// A mail about what ends soon lists it, with the address of the operation that lists all.
func TestEventBecomesAMailAboutWhatEndsSoon(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	w.Users.Prepares(ending)
	id := mailer.NoticeID(w.Users.Publish("ada", &usersv1.HumanExpirationNoticeRequested{
		Notice: "expiring", AboutOrgId: "o2",
	}))
	if n := w.Settled(id); n.Kind != "expiring" || testworld.Story(n) != "SENT: SENT" {
		t.Errorf("%v", n)
	}
	m := w.Parse(w.Accepted(1)[0])
	const list = "https://login.example.com/docs/api#tag/Expirations/operation/Expirations_ListExpirations"
	want := "\n- Schlüssel eines Maschinenkontos: deploy.\u202fexample – 28. November 2026\n- Weitere: 480\n\n" +
		"Passwort setzen\n" + list + "\n"
	if text := strings.ReplaceAll(m.Text, "\u00a0", " "); !strings.Contains(text, want) {
		t.Errorf("the text part\n%s\nlacks\n%s", text, want)
	}
	if !strings.Contains(m.HTML, `<a href="`+list+`"`) || strings.Count(m.HTML, "<li>") != 2 {
		t.Errorf("the HTML part is %s", m.HTML)
	}
}

// Several replicas send each of these mails once, also if one is killed between the claim and the sending.
func TestMailsAboutWhatEndsSoonAreSentOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{})
	held, release := w.Users.Block()
	asks := func() string {
		return mailer.NoticeID(w.Users.Publish("ada", &usersv1.HumanExpirationNoticeRequested{Notice: "expiring"}))
	}
	first := asks()
	<-held
	w.Exec("update notifications set due_at = now()") // its replica is gone: the lease runs out
	w.Users.Prepares(ending)
	testkit.Run(w, w.Open(testworld.Setup{}))
	w.Settled(first)
	release()
	asks()
	asks()
	w.Until("(select count(*) from notifications where due_at is null) = 3")
	w.Stop()
	w.SentOnce(3)
}
