package postgres_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/shared/postgres"
	"herald/shared/secret"
)

func code(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return refused.Code
	}
	return fmt.Sprint(err)
}

// Four replicas of three services provision a new server at once, and then again.
func TestProvisionConcurrently(t *testing.T) {
	t.Parallel()
	server, k := start(t), keys(t, "1")
	for range 3 {
		together(t, 12, func(i int) error {
			own, err := postgres.Provision(t.Context(), secret.NewText(server.URL()), k, name(i%3))
			if err != nil {
				return err
			}
			if got := refusal(t, own); got != "" {
				return errors.New("its URL is refused: " + got)
			}
			return nil
		})
	}
}

// An administrator needs no superuser rights, and the role of a service can connect to its own
// database only.
func TestProvisionIsolatesRoles(t *testing.T) {
	t.Parallel()
	server, k := start(t), keys(t, "1")
	exec(t, server.URL(), `create role lead login createdb createrole password 'x'`,
		`create role plain login password 'x'`)
	admin, err := postgres.WithDatabase(secret.NewText(server.URL()), "postgres", "lead", secret.NewText("x"))
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]secret.Text{}
	for _, service := range []string{"users", "text"} {
		for range 2 {
			if own[service], err = postgres.Provision(t.Context(), admin, k, service); err != nil {
				t.Fatal(err)
			}
		}
	}
	exec(t, own["users"].Reveal(), `create table private (id text)`, `insert into private values ('x')`)
	for _, c := range []struct{ role, database, want string }{
		{"users", "users", ""},
		{"text", "text", ""},
		{"text", "users", "42501"},
		{"users", "text", "42501"},
	} {
		foreign, err := postgres.WithDatabase(admin, postgres.Name(c.database), postgres.Name(c.role),
			postgres.Password(k, c.role))
		if err != nil {
			t.Fatal(err)
		}
		if got := refusal(t, foreign); got != c.want {
			t.Errorf("the role of %s in the database of %s: %q, want %q", c.role, c.database, got, c.want)
		}
	}
	plain, _ := postgres.WithDatabase(admin, "postgres", "plain", secret.NewText("x"))
	if _, err := postgres.Provision(t.Context(), plain, k, "auth"); err == nil ||
		!strings.Contains(err.Error(), "alter role plain createdb createrole") {
		t.Errorf("without CREATEROLE: %v", err)
	}
	for _, sql := range []string{`create role x`, `create database x`} {
		conn, err := pgx.Connect(t.Context(), own["users"].Reveal())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), sql); code(err) != "42501" {
			t.Errorf("a service's role may %s: %v", sql, err)
		}
		conn.Close(t.Context())
	}
}

// The next start completes one that was interrupted. A rotated master key gives the role a new
// password. Tables keep their rows.
func TestProvisionAgain(t *testing.T) {
	t.Parallel()
	server, old, rotated := start(t), keys(t, "1"), keys(t, "2")
	admin := secret.NewText(server.URL())
	exec(t, server.URL(), `create role herald_text login`,
		`create database herald_text owner herald_text template template0`)
	if _, err := postgres.Provision(t.Context(), admin, old, "users"); err != nil {
		t.Fatal(err)
	}
	first, err := postgres.Provision(t.Context(), admin, old, "text")
	if err != nil {
		t.Fatal(err)
	}
	foreign, _ := postgres.WithDatabase(admin, "herald_text", "herald_users", postgres.Password(old, "users"))
	if got := refusal(t, foreign); got != "42501" {
		t.Errorf("a database without its revocation: %q", got)
	}
	exec(t, first.Reveal(), `create table kept (id text)`)
	second, err := postgres.Provision(t.Context(), admin, rotated, "text")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, second.Reveal(), `select id from kept`)
	if got := refusal(t, first); got != "28P01" {
		t.Errorf("the old password: %q", got)
	}
}

func TestProvisionWithoutServer(t *testing.T) {
	t.Parallel()
	for _, admin := range []string{
		"", "nonsense", "http://u:planted@localhost/x", "host=localhost user=u password=planted",
		"postgres://u:planted@%zz/x", "postgres://u:planted@127.0.0.1:1/x",
	} {
		_, err := postgres.Provision(t.Context(), secret.NewText(admin), keys(t, "1"), "users")
		if err == nil || strings.Contains(err.Error(), "planted") {
			t.Errorf("%s: %v", admin, err)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	k := keys(t, "1")
	password := postgres.Password(k, "users").Reveal()
	for given, want := range map[string]string{
		"postgres://db:5432": "postgres://herald_users:" + password + "@db:5432/herald_users",
		"postgresql://db/other?sslmode=verify-full": "postgresql://herald_users:" + password +
			"@db/herald_users?sslmode=verify-full",
		"postgres:///?host=/run/postgresql": "postgres://herald_users:" + password +
			"@/herald_users?host=/run/postgresql",
		"postgres://a:5432,b:5433/?target_session_attrs=read-write": "postgres://herald_users:" + password +
			"@a:5432,b:5433/herald_users?target_session_attrs=read-write",
		"postgres://me:mine@db/own": "postgres://me:mine@db/own",
		"postgres://me@db/own":      "postgres://me@db/own",
	} {
		t.Run(given, func(t *testing.T) {
			if got, err := postgres.Own(secret.NewText(given), k, "users"); err != nil || got.Reveal() != want {
				t.Errorf("got %s, %v, want %s", got.Reveal(), err, want)
			}
		})
	}
	for _, given := range []string{"", "db", "mysql://db/x", "host=db", "postgres://%zz"} {
		if got, err := postgres.Own(secret.NewText(given), k, "users"); err == nil {
			t.Errorf("%s: %s", given, got.Reveal())
		}
	}
	odd := "p@ss/w:ord?#% \\"
	got, err := postgres.WithDatabase(secret.NewText("postgres://db"), "d", "r", secret.NewText(odd))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(got.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := u.User.Password(); p != odd || u.Host != "db" || u.Path != "/d" {
		t.Errorf("%s", got.Reveal())
	}
	if other := postgres.Password(k, "text").Reveal(); other == password || len(other) != 32 ||
		other == postgres.Password(keys(t, "2"), "text").Reveal() {
		t.Errorf("passwords %s and %s", password, other)
	}
}
