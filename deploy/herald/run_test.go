package main_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/deploy/herald/test/whole"
)

// Two instances run at the same time. Each stops cleanly at a signal and has its data after the next
// start.
func TestSideBySideAndAgain(t *testing.T) {
	t.Parallel()
	a, b := whole.New(t), whole.New(t)
	a.Start()
	b.Start()
	if a.Token == b.Token {
		t.Error("two instances share a token")
	}
	first := a.Out
	if !strings.Contains(strings.Join(first, "\n"), "one-time password") {
		t.Errorf("the first start says %q", first)
	}
	a.Import("u1")
	a.Mail("u1@example.com")
	for instance, signal := range map[*whole.Instance]syscall.Signal{a: syscall.SIGTERM, b: syscall.SIGINT} {
		if err := instance.Stop(signal); err != nil {
			t.Errorf("after %s: %v", signal, err)
		}
		if logs := instance.Logs.String(); strings.Contains(logs, `"level":"ERROR"`) {
			t.Errorf("the stop was not clean: %s", logs)
		}
	}
	token := a.Token
	a.Start()
	if a.Token != token || strings.Contains(strings.Join(a.Out, "\n"), "one-time password") {
		t.Errorf("the second start says %q", a.Out)
	}
	if a.State("u1") != "USER_STATE_INITIAL" {
		t.Error("the user is gone")
	}
	a.Mail("u1@example.com") // the inbox keeps its mails
	t.Logf("first start %s, second %s", b.Ready, a.Ready)
}

// A mistyped setting is reported in one line that names it.
func TestMistakenSettings(t *testing.T) {
	t.Parallel()
	file := whole.Binary(t)
	taken := whole.FreeAddress(t)
	for setting, says := range map[string]string{
		"HERALD_LISTN=:8080":                   "HERALD_LISTN is not a setting",
		"HERALD_LISTEN=8080":                   "HERALD_LISTEN",
		"HERALD_PUBLIC_URL=localhost":          "HERALD_PUBLIC_URL",
		"HERALD_SMTP_URL=mail.example.com":     "HERALD_SMTP_URL",
		"HERALD_MAIL_FROM=Herald":              "HERALD_MAIL_FROM",
		"HERALD_LOG_LEVEL=LOUD":                "HERALD_LOG_LEVEL",
		"HERALD_MASTER_KEY=abc":                "HERALD_MASTER_KEY",
		"HERALD_MASTER_KEY_FILE=/no/such/file": "HERALD_MASTER_KEY_FILE",
		"HERALD_DATABASE_URL=mysql://x":        "HERALD_DATABASE_URL",
		"HERALD_DEFAULT_LANGUAGE=xx":           "HERALD_DEFAULT_LANGUAGE",
		"HERALD_SEARCH_MAX_LIMIT=many":         "HERALD_SEARCH_MAX_LIMIT",
		"HERALD_SEARCH_MAX_LIMIT=1001":         "between 1 and 1000",
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			dir := whole.Dir(t)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, file, "run")
			c.Env = append(os.Environ(), "HERALD_DATA_DIR="+dir+"/data", "HERALD_LISTEN="+taken,
				"HERALD_INBOX_LISTEN=127.0.0.1:0", setting)
			out, err := c.CombinedOutput()
			if err == nil || !strings.Contains(string(out), says) {
				t.Errorf("ended with %v and said %s", err, out)
			}
		})
	}
}

// With the credentials of subscribers a program can subscribe to events and do nothing else.
func TestSubscriber(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	url, err := os.ReadFile(i.Dir + "/data/subscriber.url")
	if err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 10)
	nc, err := nats.Connect(strings.TrimSpace(string(url)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	sub, err := nc.SubscribeSync("events.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	i.Import("u1")
	for {
		m, err := sub.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(m.Subject, "events.users.human.imported.") {
			if m.Header.Get("ce-subject") != "u1" || m.Header.Get("ce-type") != "herald.users.human.imported.v1" ||
				strings.Contains(string(m.Data), "example.com") {
				t.Errorf("event %v %s", m.Header, m.Data)
			}
			break
		}
	}
	if err := nc.Publish("events.users.human.imported.x", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := nc.SubscribeSync("rpc.>"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case err := <-refused:
			if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("publishing and other subjects are not refused")
		}
	}
}
