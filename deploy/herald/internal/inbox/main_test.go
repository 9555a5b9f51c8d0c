package inbox

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/smtp"
	"os"
	"strings"
	"testing"
)

// childDir, when set, makes the test program run an inbox in that directory until its standard
// input ends or it is killed.
const childDir = "INBOX_TEST_CHILD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := serveChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func serveChild(dir string) error {
	in, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println(l.Addr())
	return in.ServeSMTP(ctx, l)
}

func open(t testing.TB, dir string) *Inbox {
	t.Helper()
	in, err := Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	return in
}

// serve starts the SMTP server of an inbox and returns its address.
func serve(t *testing.T, in *Inbox) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- in.ServeSMTP(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// send sends a mail from herald@example.com. It returns nil if the server answered 250.
func send(address, mail string, to ...string) error {
	if len(to) == 0 {
		to = []string{"ada@example.com"}
	}
	return smtp.SendMail(address, nil, "herald@example.com", to, crlf(mail))
}

func crlf(text string) []byte { return []byte(strings.ReplaceAll(text, "\n", "\r\n")) }

// put stores a mail directly, without SMTP.
func put(t testing.TB, in *Inbox, mail string) {
	t.Helper()
	if err := in.deliver(crlf(mail)); err != nil {
		t.Fatal(err)
	}
}

func letter(id string) string {
	return "From: Herald <herald@example.com>\nTo: ada@example.com\nSubject: mail " + id + "\nMessage-ID: <" + id +
		"@example.com>\n\nHello " + id + "\n"
}

// subjects returns the subjects of all mails, the newest first.
func subjects(in *Inbox) []string {
	var all []string
	for _, m := range in.newest("") {
		all = append(all, m.Subject)
	}
	return all
}
