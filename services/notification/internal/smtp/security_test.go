package smtp

import (
	"context"
	"net"
	"net/url"
	"strings"
	"testing"

	"herald/shared/testkit/outside"
)

func TestSecurity(t *testing.T) {
	t.Parallel()
	plain, startTLS := outside.MailConfig{}, outside.MailConfig{TLS: outside.StartTLS}
	for name, test := range map[string]struct {
		config    outside.MailConfig
		options   string
		encrypted bool
		says      string // the expected error, or empty
	}{
		"implicit":             {outside.MailConfig{TLS: outside.ImplicitTLS}, "", true, ""},
		"implicit with login":  {outside.MailConfig{TLS: outside.ImplicitTLS, User: "u", Password: "p"}, "", true, ""},
		"offered":              {startTLS, "", true, ""},
		"offered and required": {startTLS, "starttls=required", true, ""},
		"offered and off":      {startTLS, "starttls=off", false, ""},
		"not offered":          {plain, "", false, ""},
		"not offered but required": {plain, "starttls=required", false,
			"the mail relay does not offer STARTTLS: check HERALD_SMTP_URL or /admin/v1/smtp"},
		"demanded but off": {outside.MailConfig{TLS: outside.StartTLS, DemandTLS: true}, "starttls=off", false,
			"Must issue a STARTTLS command first"},
		"login unencrypted to loopback": {outside.MailConfig{User: "u", Password: "p"}, "", false, ""},
		"AUTH LOGIN": {outside.MailConfig{TLS: outside.StartTLS, User: "u", Password: "p",
			Mechanisms: "CRAM-MD5 LOGIN"}, "", true, ""},
		"unknown mechanisms": {outside.MailConfig{TLS: outside.StartTLS, User: "u", Password: "p",
			Mechanisms: "CRAM-MD5"}, "", true, "neither AUTH PLAIN nor AUTH LOGIN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := outside.StartMailServer(t, test.config)
			address := s.URL()
			if test.options != "" {
				address += map[bool]string{true: "&", false: "?"}[strings.Contains(address, "?")] + test.options
			}
			result, _ := attempt(t, newRelay(t, address))
			if test.says != "" {
				if result.Outcome != Deferred || !result.Relay || !strings.Contains(result.Reply, test.says) {
					t.Errorf("%+v", result)
				}
				return
			}
			if result.Outcome != Sent {
				t.Fatalf("%+v", result)
			}
			if d := accepted(t, s, 1)[0]; d.TLS != test.encrypted || d.User != test.config.User {
				t.Errorf("encrypted %t, user %q", d.TLS, d.User)
			}
		})
	}
}

func TestUntrustedCertificateIsRefused(t *testing.T) {
	t.Parallel()
	for _, config := range []outside.MailConfig{{TLS: outside.StartTLS}, {TLS: outside.ImplicitTLS}} {
		s := outside.StartMailServer(t, config)
		address, _, _ := strings.Cut(s.URL(), "?")
		result, _ := attempt(t, newRelay(t, address))
		if result.Outcome != Deferred || !result.Relay ||
			!strings.Contains(result.Reply, "certificate is not to be trusted") {
			t.Errorf("%+v", result)
		}
		accepted(t, s, 0)
	}
}

func TestCertificateOfAnotherHostIsRefused(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{TLS: outside.StartTLS})
	r := newRelay(t, strings.Replace(s.URL(), "127.0.0.1", "mail.example.org", 1))
	r.dial = to(t, s)
	if result, _ := attempt(t, r); result.Outcome != Deferred || !result.Relay ||
		!strings.Contains(result.Reply, "mail.example.org") {
		t.Errorf("%+v", result)
	}
}

func TestWrongPasswordIsNamed(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, guarded)
	result, _ := attempt(t, newRelay(t, strings.Replace(s.URL(), "CANARY", "CANARY2", 1)))
	want := said(Deferred, "the mail relay refused the user name or password (535 5.7.8 wrong user name or "+
		"password): check HERALD_SMTP_URL or /admin/v1/smtp")
	want.Relay, want.Code = true, 535
	if result != want {
		t.Errorf("%+v", result)
	}
}

// An attacker in the middle removes STARTTLS from the answer to EHLO.
func TestPasswordStaysWhenEncryptionIsTakenAway(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{User: "u", Password: "p"})
	r := newRelay(t, "smtp://u:p@mail.example.com:587")
	r.dial = to(t, s)
	result, _ := attempt(t, r)
	if result.Outcome != Deferred || !result.Relay || !strings.Contains(result.Reply, "the password is not sent") {
		t.Errorf("%+v", result)
	}
	if n := s.Count(outside.AUTH); n != 0 {
		t.Errorf("%d AUTH", n)
	}
}

// to returns a dialer that connects to s for every address.
func to(t *testing.T, s *outside.MailServer) func(context.Context, string, string) (net.Conn, error) {
	t.Helper()
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, u.Host)
	}
}

func TestOldServerWithoutEHLO(t *testing.T) {
	t.Parallel()
	s := outside.StartMailServer(t, outside.MailConfig{}, outside.MailFault{At: outside.EHLO, Reply: "502 5.5.1 what?"})
	if result, _ := attempt(t, newRelay(t, s.URL())); result.Outcome != Sent {
		t.Errorf("%+v", result)
	}
	accepted(t, s, 1)
}
