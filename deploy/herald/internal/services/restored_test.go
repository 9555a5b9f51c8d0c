package services_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"herald/deploy/herald/internal/services"
)

// What a restore from a backup keeps although it ends, with the reason.
var kept = map[string]string{
	"auth used_assertions": "an assertion must not be used again", "auth revoked_jwts": "the tokens stay revoked",
	"auth tokens": "goes with its authorization", "auth codes": "goes with its authorization",
	"users code_tries": "counts guesses", "users password_tries": "counts guesses",
	"users certificates": "gateways note theirs again",
}

// A restore brings back logins, tokens and keys that were ended since the backup. So each table whose rows end is in a
// service's list of changes after a restore, or here.
func TestRestoreEndsWhatMayHaveEnded(t *testing.T) {
	t.Parallel()
	create := regexp.MustCompile(`(?s)create table (\w+) \((.*?)\n\)`)
	seen := map[string]bool{}
	for _, name := range services.Names() {
		target := services.Target(name, nil)
		var changes strings.Builder
		for _, r := range target.Restored {
			changes.WriteString(r.SQL + "\n")
		}
		files, err := fs.Glob(target.Migrations, "migrations/*.sql")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d migrations, %v", name, len(files), err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(target.Migrations, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range create.FindAllStringSubmatch(string(text), -1) {
				if !strings.Contains(table[2], "expires_at") {
					continue
				}
				seen[name+" "+table[1]] = true
				changed := regexp.MustCompile(`(update|from) ` + table[1] + `\b`).MatchString(changes.String())
				if changed == (kept[name+" "+table[1]] != "") {
					t.Errorf("%s %s: put its change into Restored of the service's store, or the reason into kept",
						name, table[1])
				}
			}
		}
	}
	for _, known := range []string{"auth sessions", "users personal_access_tokens", "projects application_keys"} {
		if !seen[known] {
			t.Errorf("%s is not looked at", known)
		}
	}
}
