package boot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"herald/shared/boot"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func TestTrustMakesDatabasesUseTLS(t *testing.T) {
	t.Parallel()
	const tls = "sslmode=verify-full&sslrootcert=%2Fca"
	for name, c := range map[string]struct{ file, given, want string }{
		"no file":   {"", "postgres://db/?sslmode=disable", "postgres://db/?sslmode=disable"},
		"no server": {"/ca", "", ""},
		"a server":  {"/ca", "postgres://a:b@db:5432/x", "postgres://a:b@db:5432/x?" + tls},
		"two servers": {"/ca", "postgres://a,b/?target_session_attrs=read-write",
			"postgres://a,b/?" + tls + "&target_session_attrs=read-write"},
		"the same":        {"/ca", "postgres://db?sslmode=verify-full", "postgres://db?" + tls},
		"a contradiction": {"/ca", "postgres://a:planted@db?sslmode=disable", ""},
		"a weaker mode":   {"/ca", "postgres://a:planted@db?sslmode=require", ""},
		"no URL":          {"/ca", "postgres://a:planted@%zz", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := boot.Trust{CAFile: c.file}.Postgres(secret.NewText(c.given))
			if refused := c.want == "" && c.given != ""; refused != (err != nil) || !refused && got.Reveal() != c.want {
				t.Errorf("%q, %v", got.Reveal(), err)
			}
			if err != nil && strings.Contains(err.Error(), "planted") {
				t.Error(err)
			}
		})
	}
}

func TestTrustNeedsCertificates(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := testkit.NewServedCertificate(t, dir, time.Now().Add(time.Hour))
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string]string{
		"": "", good.Cert: "", good.Key: "has no certificate", empty: "has no certificate",
		dir + "/none": "no such file",
	} {
		err := boot.Trust{CAFile: file}.Check()
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", file, err)
		}
	}
}
