package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/event"
	"herald/shared/secret"
	"herald/shared/testkit/outside"
)

// dead runs `herald dead` with settings, and returns its output and exit code.
func dead(t testing.TB, settings []string, args ...string) (out, complaints string, code int) {
	t.Helper()
	operator := whole.Instance{T: t, Env: append(os.Environ(), settings...)}
	return operator.Herald("", append([]string{"dead"}, args...)...)
}

func dataDir(i *whole.Instance) []string { return []string{"HERALD_DATA_DIR=" + i.Dir + "/data"} }

// letters lists the dead letters until there are n.
func letters(i *whole.Instance, n int) []event.Letter {
	i.T.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range 180 {
		out, complaints, code := dead(i.T, dataDir(i), "list", "-o", "json")
		var found []event.Letter
		if err := json.Unmarshal([]byte(out), &found); err != nil || found == nil || code != 0 {
			i.T.Fatalf("%v in %s, %s, exit code %d", err, out, complaints, code)
		}
		if len(found) == n {
			return found
		}
		<-tick.C
	}
	i.T.Fatalf("not %d dead letters within 3 minutes", n)
	return nil
}

// An event that a service failed to handle ten times becomes a dead letter. When the cause is removed the operator
// redrives it, and its mail is sent once.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	mails := outside.StartMailServer(t, outside.MailConfig{})
	server := whole.Postgres(t)
	i := whole.Start(t, "HERALD_SMTP_URL="+mails.URL(), "HERALD_DATABASE_URL="+server.TCP())
	if out, _, code := dead(t, dataDir(i), "list"); out != "no dead letters\n" || code != 0 {
		t.Errorf("at the beginning: %q, exit code %d", out, code)
	}
	if out, _, code := dead(t, dataDir(i), "redrive"); out != "no dead letters\n" || code != 0 {
		t.Errorf("nothing to redrive: %q, exit code %d", out, code)
	}
	db := whole.Database(t, server, "notification")
	// The reason quotes the constraint, whose name contains a code that clears a terminal.
	if _, err := db.Exec(t.Context(), "alter table notifications add constraint \"\x1b[2Jbroken\" check (false) not "+
		"valid"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"u1", "u2"} {
		i.Import(id)
	}
	found := letters(i, 2)
	for _, l := range found {
		if l.Service != "notification" || !strings.HasPrefix(l.Subject, "events.users.human.imported.") ||
			l.EventID == "" ||
			!strings.Contains(l.Reason, "[2Jbroken") || strings.Contains(l.Reason, "\x1b") ||
			time.Since(l.Time) > time.Hour {
			t.Errorf("%+v", l)
		}
	}
	out, complaints, code := dead(t, dataDir(i), "list", "--limit", "1")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 ||
		!strings.HasPrefix(lines[0], "SEQUENCE") || !strings.Contains(lines[1], found[0].EventID) ||
		!strings.Contains(complaints, "--limit") || strings.ContainsAny(out, "\x1b\r") || code != 0 {
		t.Errorf("%q, %q, exit code %d", out, complaints, code)
	}
	if n := mails.Count(outside.DATA); n != 0 {
		t.Fatalf("%d mails were sent", n)
	}
	if _, err := db.Exec(t.Context(), "alter table notifications drop constraint \"\x1b[2Jbroken\""); err != nil {
		t.Fatal(err)
	}
	first := fmt.Sprint(found[0].Sequence)
	if out, complaints, code = dead(t, dataDir(i), "redrive", first, "9999"); code != 1 || !strings.Contains(out, first+
		": "+found[0].Subject) || !strings.Contains(out, "1 of 2") || !strings.Contains(complaints, "9999") {
		t.Errorf("%q, %q, exit code %d", out, complaints, code)
	}
	if left := letters(i, 1); left[0] != found[1] {
		t.Errorf("left is %+v", left)
	}
	// The settings with which processes of services connect to NATS.
	elsewhere := []string{
		"HERALD_NATS_URL=nats://" + i.NATS(), "HERALD_MASTER_KEY_FILE=" + i.Dir + "/data/master.key",
	}
	if out, complaints, code = dead(t, elsewhere, "redrive"); code != 0 || !strings.Contains(out, "1 of 1") {
		t.Errorf("%q, %q, exit code %d", out, complaints, code)
	}
	letters(i, 0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	allMailed(ctx, i, mails, map[string]bool{"u1": true, "u2": true})
	for _, id := range []string{"u1", "u2"} {
		if status, answer := i.Call("GET", "/management/v1/users/"+id+"/notifications", ""); status != http.StatusOK ||
			len(answer["result"].([]any)) != 1 {
			t.Errorf("notifications of %s: %d %v", id, status, answer)
		}
	}
	if n := mails.Count(outside.DATA); n != 2 {
		t.Errorf("%d mails were sent", n)
	}
}

// A mistyped command is an error, and nothing is done.
func TestDeadMistakes(t *testing.T) {
	t.Parallel()
	i := &whole.Instance{T: t, Dir: t.TempDir()}
	key := "HERALD_MASTER_KEY=" + strings.TrimSpace(secret.NewKeyText())
	for says, c := range map[string]struct {
		env  []string
		args []string
	}{
		"HERALD_DATA_DIR":        {dataDir(i), []string{"list"}},
		"HERALD_MASTER_KEY":      {[]string{"HERALD_NATS_URL=nats://127.0.0.1:1"}, []string{"list"}},
		"connect to NATS":        {[]string{"HERALD_NATS_URL=nats://127.0.0.1:1", key}, []string{"redrive"}},
		"HERALD_NATZ_URL":        {[]string{"HERALD_NATZ_URL=nats://127.0.0.1:1"}, []string{"list"}},
		`there is no "xml"`:      {nil, []string{"list", "-o", "xml"}},
		"--limit is at least":    {nil, []string{"list", "--limit", "0"}},
		`"3x" is not the number`: {nil, []string{"redrive", "1", "3x"}},
		`"0" is not the number`:  {nil, []string{"redrive", "0"}},
		`"-1"`:                   {nil, []string{"redrive", "--", "-1"}},
		"unknown command":        {nil, []string{"lst"}},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			if out, complaints, code := dead(t, c.env, c.args...); code != 1 || out != "" ||
				!strings.Contains(complaints, says) {
				t.Errorf("%q, %q, exit code %d", out, complaints, code)
			}
		})
	}
}
