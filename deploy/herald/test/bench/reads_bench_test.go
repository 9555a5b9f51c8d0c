package bench_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// BenchmarkReads compares reads of one user and one project with a floor that reads the same rows.
func BenchmarkReads(b *testing.B) {
	b.Run("one process", func(b *testing.B) {
		server, err := local.Start(b.Context(), local.Options{Dir: whole.Dir(b) + "/postgres"})
		check(b, err)
		b.Cleanup(func() { _ = server.Stop(context.Background()) })
		i := whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_DATABASE_URL="+server.URL())
		readFigures(b, i, server, 0.8)
	})
	b.Run("a process per service", func(b *testing.B) {
		p := whole.NewProcesses(b, "smtp://127.0.0.1:1")
		p.Env = append(p.Env, "HERALD_LOG_LEVEL=WARN")
		p.StartAll()
		readFigures(b, p.Instance, p.Postgres, 0.65)
	})
}

// readFigures measures reads of an instance whose databases are on that server.
func readFigures(b *testing.B, i *whole.Instance, server *local.Server, want float64) {
	const clients = 16
	user := made(i, "/management/v1/users/human/_import", whole.Active("reader"), "userId")
	project := made(i, "/management/v1/projects", `{"name":"Read"}`, "id")
	floorURL := startFloorOf(b, floorOf, server.URL())
	get := func(url, token string) func() error {
		client := newClient(clients)
		return func() error { return client.send(http.MethodGet, url, token, "") }
	}
	step, bare := get(i.URL+"/management/v1/users/"+user, i.Token), get(floorURL+"/user/"+user, "")
	figure{"get user", clients, want, step, bare}.measure(b)
	step, bare = get(i.URL+"/management/v1/projects/"+project, i.Token), get(floorURL+"/project/"+project, "")
	figure{"get project", clients, want, step, bare}.measure(b)
}

// floorOf is the environment variable with the Postgres server of a floor in its own process.
const floorOf = "HERALD_FLOOR_OF"

// TestMain runs a floor if startFloorOf has started this process.
func TestMain(m *testing.M) {
	if url := os.Getenv(floorOf); url != "" {
		testing.Benchmark(func(b *testing.B) { serveReads(b, url) })
		return
	}
	if body := os.Getenv(floorBody); body != "" {
		testing.Benchmark(func(b *testing.B) { serveBody(b, body) })
		return
	}
	os.Exit(m.Run())
}

// startFloorOf runs a floor in its own process, because Herald also runs in its own process. In the client's process it
// would be faster, because waking it costs less. The environment variable with this name and value says what the floor
// serves.
func startFloorOf(b *testing.B, name, value string) string {
	b.Helper()
	c := exec.Command(os.Args[0])
	c.Env, c.Stderr = append(os.Environ(), name+"="+value), os.Stderr
	in, err := c.StdinPipe()
	check(b, err)
	out, err := c.StdoutPipe()
	check(b, err)
	check(b, c.Start())
	b.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	check(b, err)
	return strings.TrimSpace(url)
}

// serveReads serves reads, prints its address, and ends when its input ends.
func serveReads(b *testing.B, server string) {
	f := newFloor(b)
	row[userRow](f, pool(b, server, "users"), "/user/{id}", "Users.GetUser", `select id, org_id, user_name,
		first_name, last_name, nick_name, display_name, preferred_language, email, phone, type, state, gender,
		email_verified, phone_verified, sequence, created_at, changed_at from users where id = @id`)
	row[projectRow](f, pool(b, server, "projects"), "/project/{id}", "Users.GetMyUser", `select id, org_id, name, state,
		private_labeling_setting, project_role_assertion, project_role_check, has_project_check, sequence,
		created_at, changed_at from projects where id = @id`)
	fmt.Println(f.url)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// made makes an object and returns its id.
func made(i *whole.Instance, path, body, field string) string {
	status, answer := i.Call(http.MethodPost, path, body)
	id, _ := answer[field].(string)
	if id == "" {
		i.T.Fatalf("%s: %d %v", path, status, answer)
	}
	return id
}

// pool opens a pool with a service's settings, as the server's administrator.
func pool(b *testing.B, server, service string) *pgxpool.Pool {
	b.Helper()
	u, err := url.Parse(server)
	check(b, err)
	u.Path = "/" + postgres.Name(service)
	db, err := postgres.Open(b.Context(), secret.NewText(u.String()), noop.NewTracerProvider())
	check(b, err)
	b.Cleanup(db.Close)
	return db
}
