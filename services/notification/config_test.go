package notification

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/notification/internal/smtp"
	"herald/shared/boot"
	"herald/shared/search"
	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

func TestServiceDoesNotStartWithBadSettings(t *testing.T) {
	t.Parallel()
	good := Config{
		SMTP: secret.NewText("smtp://mail.example.com:25"), MailFrom: "Herald <herald@localhost>",
		Limit: search.Limit{MaxLimit: 1000},
	}
	for name, c := range map[string]func(*Config){
		"HERALD_SMTP_URL: the address": func(c *Config) { c.SMTP = secret.NewText("mail.example.com") },
		"HERALD_MAIL_FROM: ":           func(c *Config) { c.MailFrom = "Herald" },
		"HERALD_MAIL_REPLY_TO: ":       func(c *Config) { c.ReplyTo = "Help <help@example.com>, x@example.com" },
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			c(&bad)
			if err := New(t.Context(), &boot.Service{}, bad); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestMessageIDHasThePublicHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"localhost:8080": "localhost", "xn--bro-hoa.example": "xn--bro-hoa.example", "[::1]:8443": "[IPv6:::1]",
	} {
		got := mailDomain(&url.URL{Scheme: "https", Host: host})
		if got != want {
			t.Errorf("%s: %q", host, got)
		}
		m := smtp.Mail{MessageID: "1@" + got, From: "Herald <herald@localhost>", To: "a@example.com", Date: time.Now()}
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
func TestHelpShowsValidAddresses(t *testing.T) {
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
			t.Errorf("%q lacks %s", help, option)
		}
	}
}
