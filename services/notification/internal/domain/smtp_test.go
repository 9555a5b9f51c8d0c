package domain_test

import (
	"errors"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"herald/services/notification/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/notificationfault"
	"herald/shared/secret"
	"herald/shared/setting"
)

func keys(t testing.TB) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func server(url, user, password string) domain.Server {
	return domain.Server{URL: url, User: user, Password: secret.NewText(password)}
}

const relay = "smtp://mail.example.com:587"

// What the environment sets wins, then what the API has set. The inbox counts only without a mail server.
func TestLiveSettings(t *testing.T) {
	t.Parallel()
	set := domain.SMTP{URL: relay, User: "u", Password: []byte("sealed"), SenderAddress: "a@example.com",
		SenderName: "A", ReplyTo: "r@example.com"}
	given := server("smtps://env.example.com:465", "e", "secret")
	environment := domain.Environment{Server: &given, Sender: mail.Address{Address: "e@example.com"},
		ReplyTo: "E <e@example.com>", Inbox: "smtp://127.0.0.1:1025"}
	for name, test := range map[string]struct {
		set                  domain.SMTP
		environment          domain.Environment
		url, sender, replyTo string
		password             bool
		sources              []setting.Source
	}{
		"nothing": {domain.SMTP{}, domain.Environment{}, "", `"Herald" <herald@localhost>`, "", false,
			[]setting.Source{setting.ByDefault, setting.ByDefault, setting.ByDefault}},
		"inbox": {domain.SMTP{}, domain.Environment{Inbox: "smtp://127.0.0.1:1025"}, "smtp://127.0.0.1:1025",
			`"Herald" <herald@localhost>`, "", false,
			[]setting.Source{setting.ByInbox, setting.ByDefault, setting.ByDefault}},
		"API and inbox": {set, domain.Environment{Inbox: "smtp://127.0.0.1:1025"}, relay, `"A" <a@example.com>`,
			"r@example.com", true, []setting.Source{setting.ByAPI, setting.ByAPI, setting.ByAPI}},
		"all": {set, environment, "smtps://env.example.com:465", "<e@example.com>", "E <e@example.com>", true,
			[]setting.Source{setting.ByEnvironment, setting.ByEnvironment, setting.ByEnvironment}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := test.set.Live(test.environment)
			sources := []setting.Source{l.Sources.Server, l.Sources.Sender, l.Sources.ReplyTo}
			if l.URL != test.url || l.Sender.String() != test.sender || l.ReplyTo != test.replyTo ||
				l.PasswordSet != test.password || !slices.Equal(sources, test.sources) {
				t.Errorf("%+v", l)
			}
		})
	}
}

// A stored password stays only for the server and the user for which it was given.
func TestReplace(t *testing.T) {
	t.Parallel()
	k := keys(t)
	var set domain.SMTP
	first := domain.SMTPChange{Server: server(relay, "u", "p"), SenderAddress: "a@example.com"}
	if _, err := set.Replace(first, domain.Environment{Keys: k}); err != nil {
		t.Fatal(err)
	}
	inbox := domain.Environment{Keys: k, Inbox: "smtp://127.0.0.1:1"}
	for name, test := range map[string]struct {
		change      domain.SMTPChange
		environment domain.Environment
		changed     string
		err         error
		field       string
		password    string // that is live afterwards
	}{
		"nothing changes": {first, domain.Environment{Keys: k}, "", nil, "", "p"},
		"password is kept": {domain.SMTPChange{Server: server(relay, "u", ""), SenderAddress: "b@example.com",
			SenderName: "B", ReplyTo: "r@example.com"}, domain.Environment{Keys: k}, "senderAddress senderName replyTo",
			nil, "", "p"},
		"another password": {domain.SMTPChange{Server: server(relay, "u", "q"), SenderAddress: "a@example.com"},
			domain.Environment{Keys: k}, "password", nil, "", "q"},
		"another server with its password": {domain.SMTPChange{Server: server("smtp://x.example.com:587", "u", "q")},
			domain.Environment{Keys: k}, "url password senderAddress", nil, "", "q"},
		"without login": {domain.SMTPChange{Server: server(relay, "", ""), SenderAddress: "a@example.com"},
			domain.Environment{Keys: k}, "user password", nil, "", ""},
		"the inbox": {domain.SMTPChange{}, inbox, "url user password senderAddress", nil, "", ""},
		"another server": {domain.SMTPChange{Server: server("smtp://x.example.com:587", "u", "")},
			domain.Environment{Keys: k}, "", notificationfault.ErrSmtpPasswordRequired, "password", "p"},
		"another encryption": {domain.SMTPChange{Server: server(relay+"?starttls=off", "u", "")},
			domain.Environment{Keys: k}, "", notificationfault.ErrSmtpPasswordRequired, "password", "p"},
		"another user": {domain.SMTPChange{Server: server(relay, "v", "")}, domain.Environment{Keys: k}, "",
			notificationfault.ErrSmtpPasswordRequired, "password", "p"},
		"no server": {domain.SMTPChange{}, domain.Environment{Keys: k}, "", notificationfault.ErrSmtpInvalid, "url",
			"p"},
		"login without server": {domain.SMTPChange{Server: server("", "u", "p")}, inbox, "",
			notificationfault.ErrSmtpInvalid, "url", "p"},
		"password without user": {domain.SMTPChange{Server: server(relay, "", "p")}, domain.Environment{Keys: k}, "",
			notificationfault.ErrSmtpInvalid, "user", "p"},
		"login in the URL": {domain.SMTPChange{Server: server("smtp://u:CANARY@mail.example.com:25", "", "")},
			domain.Environment{Keys: k}, "", notificationfault.ErrSmtpInvalid, "url", "p"},
		"file": {domain.SMTPChange{Server: server(relay+"?ca=/etc/passwd", "", "")}, domain.Environment{Keys: k}, "",
			notificationfault.ErrSmtpInvalid, "url", "p"},
		"no URL": {domain.SMTPChange{Server: server("smtp://CANARY%zz", "", "")}, domain.Environment{Keys: k}, "",
			notificationfault.ErrSmtpInvalid, "url", "p"},
		"name without address": {domain.SMTPChange{Server: server(relay, "u", ""), SenderName: "A"},
			domain.Environment{Keys: k}, "", notificationfault.ErrSmtpInvalid, "senderAddress", "p"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := set
			changed, err := s.Replace(test.change, test.environment)
			if got := strings.Join(changed, " "); got != test.changed || !errors.Is(err, test.err) {
				t.Fatalf("changes %q, %v", got, err)
			}
			if err != nil {
				f := fault.From(err)
				if len(f.Fields) != 1 || f.Fields[0].Path != test.field || strings.Contains(f.Message, "CANARY") {
					t.Errorf("%+v", f)
				}
			}
			live, err := s.Open(test.environment)
			if err != nil || live.Password.Reveal() != test.password {
				t.Errorf("the password is %q, %v", live.Password.Reveal(), err)
			}
		})
	}
}

// What the environment sets can only be said again, except for the password, which nobody can read.
func TestReplaceHeedsTheEnvironment(t *testing.T) {
	t.Parallel()
	given := server(relay, "u", "CANARY")
	fixed := domain.Environment{Server: &given, Sender: mail.Address{Name: "E", Address: "e@example.com"},
		ReplyTo: "r@example.com"}
	for field, test := range map[string]struct {
		change   domain.SMTPChange
		variable string // empty if the change is allowed
	}{
		"": {domain.SMTPChange{Server: server(relay, "u", ""), SenderName: "E", SenderAddress: "e@example.com",
			ReplyTo: "r@example.com"}, ""},
		"url":           {domain.SMTPChange{Server: server("smtp://x.example.com:587", "", "")}, "HERALD_SMTP_URL"},
		"user":          {domain.SMTPChange{Server: server("", "v", "")}, "HERALD_SMTP_URL"},
		"password":      {domain.SMTPChange{Server: server("", "", "CANARY")}, "HERALD_SMTP_URL"},
		"senderAddress": {domain.SMTPChange{SenderAddress: "x@example.com"}, "HERALD_MAIL_FROM"},
		"senderName":    {domain.SMTPChange{SenderName: "X"}, "HERALD_MAIL_FROM"},
		"replyTo":       {domain.SMTPChange{ReplyTo: "x@example.com"}, "HERALD_MAIL_REPLY_TO"},
	} {
		t.Run("field "+field, func(t *testing.T) {
			t.Parallel()
			var s domain.SMTP
			changed, err := s.Replace(test.change, fixed)
			if len(changed) > 0 || (err == nil) != (test.variable == "") {
				t.Fatalf("changes %q, %v", changed, err)
			}
			if f := fault.From(err); err != nil && (!errors.Is(err, notificationfault.ErrSmtpSetByEnvironment) ||
				len(f.Fields) != 1 || f.Fields[0].Path != field || !strings.Contains(f.Message, test.variable)) {
				t.Errorf("%+v", f)
			}
			live, err := s.Open(fixed)
			if printed := fmt.Sprintf("%+v", live); err != nil || live.Password.Reveal() != "CANARY" ||
				strings.Contains(printed, "CANARY") {
				t.Errorf("live is %s, %v", printed, err)
			}
		})
	}
}

// User and password change neither the server nor each other, whatever is in them.
func FuzzServer(f *testing.F) {
	f.Add("smtp://mail.example.com:587?starttls=required", "u", "p")
	f.Add("smtps://[::1]:465", "u@example.com", "p@x:/?#%40")
	f.Add("smtp:mail.example.com", ":", "")
	k := keys(f)
	f.Fuzz(func(t *testing.T, url, user, password string) {
		var s domain.SMTP
		asked := server(url, user, password)
		if _, err := s.Replace(domain.SMTPChange{Server: asked}, domain.Environment{Keys: k}); err != nil {
			return
		}
		live, err := s.Open(domain.Environment{Keys: k})
		if err != nil {
			t.Fatal(err)
		}
		got, err := domain.ParseServer(live.Address())
		if err != nil {
			return // package smtp refuses it for the same reason
		}
		again, err := domain.ParseServer(got.Address())
		if err != nil || again.URL != got.URL || got.User != user || got.Password.Reveal() != password {
			t.Errorf("%q with %q, %q becomes %q with %q, %q, and again %q, %v", url, user, password, got.URL, got.User,
				got.Password.Reveal(), again.URL, err)
		}
	})
}
