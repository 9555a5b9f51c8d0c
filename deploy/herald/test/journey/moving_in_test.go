package journey_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
)

var movingBlock = regexp.MustCompile("(?s)```(sh|json|sql|text)\n(.*?)```")

// mover follows the guide to moving in, in a folder of its own.
type mover struct {
	*whole.Instance
	folder string
	said   string
}

// do runs a command of the guide. An import that refuses somebody ends with exit code 1.
func (m *mover) do(command string) {
	m.T.Helper()
	ctx, cancel := context.WithTimeout(m.T.Context(), time.Minute)
	defer cancel()
	here := strings.NewReplacer("localhost:8080", strings.TrimPrefix(m.URL, "http://"), ".data/", m.Dir+"/data/")
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c",
		"herald() { "+whole.Binary(m.T)+" \"$@\" 2>&1; }\n"+here.Replace(command))
	c.Dir, c.Env = m.folder, m.Env
	out, err := c.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		m.T.Errorf("%s\nended with %v and printed %q", command, err, out)
	}
	m.said = string(out)
}

// holds checks that the last command printed the lines of the guide; … stands for anything.
func (m *mover) holds(text string) {
	m.T.Helper()
	lines := strings.Split(strings.TrimSpace(m.said), "\n")
	for want := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSuffix(want, "\n"), "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		line := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		found := false
		for len(lines) > 0 && !found {
			found = line.MatchString(lines[0])
			lines = lines[1:]
		}
		if !found {
			m.T.Errorf("the guide says %q, and what is printed is\n%s", want, m.said)
			return
		}
	}
}

// export runs the guide's query on a table of another system, and imports what it gives.
func (m *mover) export(query string) {
	m.T.Helper()
	ctx, server := m.T.Context(), whole.Postgres(m.T)
	db, err := pgx.Connect(ctx, server.TCP())
	if err != nil {
		m.T.Fatal(err)
	}
	defer db.Close(ctx)
	if _, err := db.Exec(ctx, `create table customers (id int, login text, first_name text, last_name text, email text,
		confirmed bool, password_hash text)`); err != nil {
		m.T.Fatal(err)
	}
	if _, err := db.Exec(ctx, `insert into customers values
		(1, 'joan', 'Joan', 'Clarke', 'joan@example.com', true, null),
		(2, 'emmy', 'Emmy', 'Noether', 'emmy@example.com', true, '$1$c2FsdHNh$Rvly2blrBLqdEOjmj/v.I0')`); err != nil {
		m.T.Fatal(err)
	}
	rows, err := db.Query(ctx, query)
	if err != nil {
		m.T.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		m.T.Fatal(err)
	}
	if err := os.WriteFile(m.folder+"/people.ndjson", []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		m.T.Fatal(err)
	}
}

// Every command in docs/moving-in.md prints the output that stands below it. The files that the guide shows can be
// imported.
func TestMovingIn(t *testing.T) {
	t.Parallel()
	m := &mover{Instance: whole.Start(t), folder: t.TempDir()}
	if err := os.Symlink(whole.Root(t)+"/examples", m.folder+"/examples"); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, b := range movingBlock.FindAllStringSubmatch(whole.File(t, "docs/moving-in.md"), -1) {
		kinds[b[1]]++
		switch b[1] {
		case "sh":
			m.do(b[2])
		case "text":
			m.holds(b[2])
		case "json":
			if err := os.WriteFile(m.folder+"/shown.json", []byte(b[2]), 0o600); err != nil {
				t.Fatal(err)
			}
			m.do("herald import shown.json --check")
			m.holds("2 users in shown.json\n  2 new\n  0 imported before\n  0 refused\n")
		case "sql":
			m.export(b[2])
		}
	}
	if kinds["sh"] < 5 || kinds["text"] < 5 || kinds["json"] != 1 || kinds["sql"] != 1 {
		t.Errorf("the guide shows %v", kinds)
	}
	m.do("herald import people.ndjson")
	m.holds("2 users imported in …\n")
	m.do("herald import people.ndjson --check") // its organization is there by now
	m.holds("2 users in people.ndjson\n  0 new\n  2 imported before\n  0 refused\n")
}
