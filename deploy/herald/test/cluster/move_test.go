package cluster_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// The database of users moves to a server of its own with the commands of docs/scaling.md. Nobody is lost, and events
// continue after those of before.
func TestDatabaseMovesToItsOwnServer(t *testing.T) {
	t.Parallel()
	mails := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, mails.URL())
	p.StartAll()
	p.Import("before")
	p.End("users", syscall.SIGTERM)
	server := whole.Postgres(t)
	to := strings.TrimSuffix(server.TCP(), "/postgres?sslmode=disable")
	move := exec.Command("sh", "-euc", `HERALD_DATABASE_URL=$TO "$HERALD" databases
		"$BIN/pg_dump" --format=custom "$FROM/herald_users" |
			"$BIN/pg_restore" --exit-on-error --no-owner --role=herald_users --dbname="$TO/herald_users"`)
	move.Env = append(p.Env, "HERALD="+whole.Binary(t), "TO="+to,
		"FROM="+strings.TrimSuffix(p.Postgres.TCP(), "/postgres?sslmode=disable"),
		"BIN="+setting(p, "select setting from pg_config where name = 'BINDIR'"))
	if out, err := move.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, address, _ := strings.Cut(to, "@")
	p.Start("users", "HERALD_DATABASE_URL=postgres://"+address+"/?sslmode=disable")
	if p.State("before") != "USER_STATE_INITIAL" {
		t.Errorf("the person is %v", p.State("before"))
	}
	p.Import("after")
	if _, err := mails.Wait(t.Context(), 2); err != nil {
		t.Error(err)
	}
	if causes := p.Unready(); len(causes) > 0 {
		t.Error(causes)
	}
}
