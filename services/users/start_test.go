package users_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"herald/services/users"
	"herald/services/users/internal/testworld"
	"herald/shared/boot"
	"herald/shared/search"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// The first start writes a token that works to a file that only its owner can read. Another start
// changes nothing. A start that was killed between two steps is finished by the next one.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	url, dir := testworld.Kit.Database(t), t.TempDir()
	file := dir + "/admin.pat"
	start := func() users.Administrator {
		t.Helper()
		s, err := g.Open(t.Context(), "users", url, users.Migrations)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		admin, err := users.New(t.Context(), s, users.Config{
			Limit: search.Limit{MaxLimit: 1000}, OTPIssuer: "Herald", TokenFile: file,
			AuditSettings: boot.AuditSettings{AuditKeep: 24 * time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		return admin
	}
	// A start was killed before the commit, and the file has another mode.
	if err := os.WriteFile(file+".new", []byte(secret.PersonalAccessToken.New().Reveal()), 0o644); err != nil {
		t.Fatal(err)
	}
	admin := start()
	if admin.LoginName != "admin" || len(admin.Password.Reveal()) != 16 {
		t.Errorf("administrator %+v", admin)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	token := read(t, file)
	if again := start(); again.LoginName != "" || read(t, file) != token {
		t.Error("the second start made something")
	}
	if err := os.Rename(file, file+".new"); err != nil { // as if the start was killed after the commit
		t.Fatal(err)
	}
	if start(); read(t, file) != token {
		t.Error("the token of a start that was killed is gone")
	}
	if err := os.WriteFile(file+".new", []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	start()
	if _, err := os.Stat(file + ".new"); !os.IsNotExist(err) || read(t, file) != token {
		t.Error("a file that no start wrote was kept")
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}
