package start_test

import (
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// The doctor finds nothing where nothing is wrong. Else it names what is wrong, and what to do.
func TestDoctorNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	cert := testkit.NewServedCertificate(t, whole.Dir(t), time.Now().Add(72*time.Hour))
	i := whole.Start(t, "HERALD_DATABASE_URL="+server.TCP(), "HERALD_TLS_CERT_FILE="+cert.Cert,
		"HERALD_TLS_KEY_FILE="+cert.Key, "SSL_CERT_FILE="+cert.Cert)
	says := func(wrong int, line string, settings ...string) {
		t.Helper()
		asked := *i
		asked.Env = append(i.Env[:len(i.Env):len(i.Env)], settings...)
		out, complaint, code := asked.Herald("", "doctor")
		if (code != 0) != (wrong > 0) || strings.Count(out, "WRONG") != wrong || !strings.Contains(out, line) ||
			strings.Count(out, "\n") != 10 {
			t.Errorf("with %q it ended with %d and said %s%s", settings, code, out, complaint)
		}
	}
	says(1, "WRONG  public URL: its certificate ends on "+time.Now().Add(72*time.Hour).UTC().Format(time.DateOnly)+
		": renew it\n")
	renewed := testkit.NewServedCertificate(t, strings.TrimSuffix(cert.Cert, "/tls.crt"), time.Now().Add(720*time.Hour))
	for begin := time.Now(); ; { // the port takes the new one within a second
		if out, _, code := i.Herald("", "doctor"); code == 0 && !strings.Contains(out, "WRONG") {
			break
		} else if time.Since(begin) > 20*time.Second {
			t.Fatalf("with the certificate %s it says %s", renewed.Cert, out)
		}
	}
	says(0, "ok     database of idp: Postgres ")
	says(1, "is Herald running, does HERALD_PUBLIC_URL lead to it", "HERALD_PUBLIC_URL=https://"+whole.FreeAddress(t))
	says(1, "the Herald there calls itself https://localhost:", "HERALD_PUBLIC_URL="+
		strings.Replace(strings.Replace(i.URL, "http:", "https:", 1), "localhost", "127.0.0.1", 1))
	says(1, "WRONG  mail relay: ", "HERALD_SMTP_URL=smtp://"+whole.FreeAddress(t))
	says(7, "is the server of HERALD_DATABASE_URL running", "HERALD_DATABASE_URL=postgres://a:b@"+whole.FreeAddress(t))
	db := whole.Database(t, server, "text")
	if _, err := db.Exec(t.Context(), `update schema_version set version = 3`); err != nil {
		t.Fatal(err)
	}
	says(1, "WRONG  database of text: 1 migrations are missing: start the service of this version, or type")
}

// The certificate of the port is in the list of what expires, and each one that takes its place.
func TestCertificateIsListed(t *testing.T) {
	t.Parallel()
	cert := testkit.NewServedCertificate(t, whole.Dir(t), time.Now().Add(72*time.Hour))
	i := whole.Start(t, "HERALD_TLS_CERT_FILE="+cert.Cert, "HERALD_TLS_KEY_FILE="+cert.Key, "SSL_CERT_FILE="+cert.Cert)
	listed := func(want int) {
		t.Helper()
		for begin := time.Now(); ; {
			out, complaint, code := i.Herald("", "call", "Expirations.ListInstanceExpirations", "--json",
				`{"within":"40d"}`)
			if code == 0 && strings.Count(out, "EXPIRATION_KIND_CERTIFICATE") == want &&
				strings.Contains(out, "localhost") {
				return
			}
			if time.Since(begin) > time.Minute {
				t.Fatalf("ended with %d and said %s%s, want %d certificates", code, out, complaint, want)
			}
		}
	}
	listed(1)
	testkit.NewServedCertificate(t, strings.TrimSuffix(cert.Cert, "/tls.crt"), time.Now().Add(720*time.Hour))
	listed(2) // another gateway may still have the first one
}

// A mail server of the API takes the place of the inbox, for mails and for the doctor, until it is removed.
func TestMailServerOfTheAPIReplacesTheInbox(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	set := func(settings, says string) {
		t.Helper()
		i.Must("PUT", "/admin/v1/smtp", settings)
		if out, complaint, _ := i.Herald("", "doctor"); !strings.Contains(out, says) {
			t.Errorf("with %s the doctor said %s%s", settings, out, complaint)
		}
	}
	server := outside.StartMailServer(t, outside.MailConfig{})
	set(`{"url":"`+server.URL()+`","senderAddress":"no-reply@example.com"}`, "ok     mail relay: takes mails\n")
	i.Import("mini")
	if mails, err := server.Wait(t.Context(), 1); err != nil || mails[0].From != "no-reply@example.com" {
		t.Errorf("the server got %v, %v", mails, err)
	}
	set(`{"url":"smtp://`+whole.FreeAddress(t)+`"}`, "WRONG  mail relay: the mail relay failed at connecting: ")
	set(`{}`, "ok     mail relay: the inbox of herald run\n")
	i.Import("minnie")
	i.Mail("minnie@example.com")
}
