package smtp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herald/shared/secret"
)

func TestNewRelay(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"smtp://mail.example.com:25":                             "relay mail.example.com:25 (TLS optional)",
		"SMTP://mail.example.com:587/":                           "relay mail.example.com:587 (TLS optional)",
		"smtp://u:p%40ss@mail.example.com:587?starttls=required": "relay mail.example.com:587 (TLS required)",
		"smtp://mail.example.com:25?starttls=off":                "relay mail.example.com:25 (TLS off)",
		"smtp://u:p@127.0.0.1:25?starttls=off":                   "relay 127.0.0.1:25 (TLS off)",
		"smtp://u:p@[::1]:25?starttls=off":                       "relay [::1]:25 (TLS off)",
		"smtp://mail_relay:1025":                                 "relay mail_relay:1025 (TLS optional)",
		"smtps://u:p@mail.example.com:465":                       "relay mail.example.com:465 (TLS implicit)",
	} {
		t.Run(address, func(t *testing.T) {
			r, err := NewRelay(secret.NewText(address))
			if err != nil || r.String() != want {
				t.Errorf("%s = %v, %v, want %s", address, r, err, want)
			}
		})
	}
}

func TestNewRelayRefuses(t *testing.T) {
	t.Parallel()
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		"", "mail.example.com", "mail.example.com:25", "smtp:", "smtp://", "smtp:mail.example.com:25",
		"//mail.example.com:25",
		"smtp://mail.example.com", "smtp://:25", "smtp://mail.example.com:0", "smtp://mail.example.com:65536",
		"smtp://mail.example.com:smtp",
		"http://mail.example.com:25", "smtp+tls://mail.example.com:25", "smtp://mail.example.com:25/path",
		"smtp://mail.example.com:25#x",
		"smtp://CANARY@mail.example.com:25", "smtp://:CANARY@mail.example.com:25", "smtp://u:@mail.example.com:25",
		"smtp://u:CANARY%00@mail.example.com:25", "smtp://u:CANARY%0d%0a@mail.example.com:25",
		"smtp://u:CANARY%zz@mail.example.com:25",
		"smtp://u:CANARY/x@mail.example.com:25", "smtp://u:1?CANARY@mail.example.com:25",
		"smtp://u:1#CANARY@mail.example.com:25",
		"smtp://u:CANARY@mail.example.com:25?starttls=off", "smtp://u:CANARY@mail.example.com:25?starttls=maybe",
		"smtp://u:CANARY@mail.example.com:25?starttls=",
		"smtp://u:CANARY@mail.example.com:25?starttls=off&starttls=required",
		"smtp://u:CANARY@mail.example.com:25?insecure=true", "smtp://u:CANARY@mail.example.com:25?a;b",
		"smtps://u:CANARY@mail.example.com:465?starttls=required",
		"smtp://mail.example.com:25?ca=/nowhere/ca.pem", "smtp://mail.example.com:25?ca=" + noPEM,
	} {
		r, err := NewRelay(secret.NewText(address))
		if err == nil {
			t.Errorf("%q is taken for %v", address, r)
		} else if strings.Contains(err.Error(), "CANARY") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestRelayKeepsItsPassword(t *testing.T) {
	t.Parallel()
	r, err := NewRelay(secret.NewText("smtp://CANARY:CANARY@mail.example.com:587"))
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, value := range []any{r, struct{ Relay *Relay }{r}} {
			if printed := fmt.Sprintf(format, value); strings.Contains(printed, "CANARY") {
				t.Errorf("%s prints %s", format, printed)
			}
		}
	}
}
