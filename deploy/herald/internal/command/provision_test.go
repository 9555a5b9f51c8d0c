package command

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats-server/v2/server"

	"herald/deploy/herald/internal/services"
	"herald/shared/bus"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// written returns the files that WriteSecrets made, by path below its directory.
func written(t *testing.T, dir string) map[string]string {
	t.Helper()
	if err := WriteSecrets(dir); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func overwrite(t *testing.T, file, text string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o444); err != nil {
		t.Fatal(err)
	}
}

// An upgrade keeps the secrets and writes again what is derived from them and from the contracts.
func TestWriteAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "secrets")
	first := written(t, dir)
	if len(first) != 5 {
		t.Errorf("%d files", len(first))
	}
	if again := written(t, dir); !reflect.DeepEqual(again, first) {
		t.Error("the second run changed something")
	}
	overwrite(t, dir+"/nats/users.conf", "users = []\n")
	overwrite(t, dir+"/postgres/admin.url", "")
	overwrite(t, dir+"/gateway/gateway.key", "")
	if err := os.Remove(dir + "/mails"); err != nil {
		t.Fatal(err)
	}
	if again := written(t, dir); !reflect.DeepEqual(again, first) {
		t.Error("what is derived was not made anew")
	}
	if _, err := os.Stat(dir + "/mails"); err != nil {
		t.Error(err)
	}
	if other := written(t, filepath.Join(t.TempDir(), "secrets")); other["keys/master.key"] ==
		first["keys/master.key"] || other["postgres/password"] == first["postgres/password"] {
		t.Error("two projects share a secret")
	}
}

// A damaged master key is an error and not replaced, because a new key could not open old secrets.
func TestWriteRefusesADamagedKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := written(t, dir)
	overwrite(t, dir+"/keys/master.key", first["keys/master.key"][:20])
	if err := WriteSecrets(dir); err == nil || !strings.Contains(err.Error(), "keys/master.key") ||
		strings.Contains(err.Error(), first["keys/master.key"][:20]) {
		t.Errorf("%v", err)
	}
}

// The NATS users of the container are the same as those of the tests' NATS.
func TestUsersOfNATS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := written(t, dir)
	keys, err := secret.ParseKeys(files["keys/master.key"])
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(config, []byte("authorization {\n  include nats/users.conf\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(config)
	if err != nil {
		t.Fatal(err)
	}
	want, err := bus.Users()
	if err != nil {
		t.Fatal(err)
	}
	if len(options.Users) != len(want) || len(want) < len(services.Names()) {
		t.Fatalf("%d users, want %d", len(options.Users), len(want))
	}
	for i, u := range options.Users {
		w := want[i]
		if u.Username != w.Name || u.Password != bus.Password(keys, w.Name).Reveal() {
			t.Errorf("user %s with a password of its own", u.Username)
		}
		if len(w.Publish) == 0 {
			if !reflect.DeepEqual(u.Permissions.Publish, &server.SubjectPermission{Deny: []string{">"}}) {
				t.Errorf("%s may publish", u.Username)
			}
		} else if !reflect.DeepEqual(u.Permissions.Publish.Allow, w.Publish) {
			t.Errorf("%s publishes %v", u.Username, u.Permissions.Publish)
		}
		if !reflect.DeepEqual(u.Permissions.Subscribe.Allow, w.Subscribe) ||
			(u.Permissions.Response != nil) != w.Answers {
			t.Errorf("%s: %v", u.Username, u.Permissions)
		}
	}
}

// startPostgres starts a server with no databases of services.
func startPostgres(t *testing.T) *local.Server {
	t.Helper()
	base, err := os.MkdirTemp("", "herald-provision-") // Postgres's own user must be able to enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o711); err != nil {
		t.Fatal(err)
	}
	pg, err := local.Start(t.Context(), local.Options{
		Dir: base + "/postgres", Bin: os.Getenv("PG_BIN"), Volatile: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	return pg
}

// A service of a new version gets its database; existing databases are not changed.
func TestDatabasesOfANewVersion(t *testing.T) {
	t.Parallel()
	pg := startPostgres(t)
	keys, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	admin := secret.NewText(pg.TCP())
	own := func(service, sql string) error {
		u, err := url.Parse(pg.TCP())
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.Path = url.UserPassword(postgres.Name(service), postgres.Password(keys, service).Reveal()), "/"+
			postgres.Name(service)
		conn, err := pgx.Connect(t.Context(), u.String())
		if err != nil {
			return err
		}
		defer conn.Close(t.Context())
		_, err = conn.Exec(t.Context(), sql)
		return err
	}
	if err := makeDatabases(t.Context(), admin, keys, []string{"users"}); err != nil {
		t.Fatal(err)
	}
	if err := own("users", `create table kept (id text)`); err != nil {
		t.Fatal(err)
	}
	if own("projects", `select 1`) == nil {
		t.Error("a database before its time")
	}
	if err := makeDatabases(t.Context(), admin, keys, []string{"users", "projects"}); err != nil {
		t.Fatal(err)
	}
	for service, sql := range map[string]string{
		"users": `insert into kept values ('x')`, "projects": `create table new (id text)`,
	} {
		if err := own(service, sql); err != nil {
			t.Errorf("%s: %v", service, err)
		}
	}
}
