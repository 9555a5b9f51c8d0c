package setup_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The examples look for the instance where the settings of the terminal put it.
func TestExamplesFollowTheSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ settings, want string }{
		"none":    {"", "-issuer http://localhost:8080 .data/admin.pat"},
		"address": {"HERALD_LISTEN=[::1]:9001", "-issuer http://localhost:9001 .data/admin.pat"},
		"public":  {"HERALD_PUBLIC_URL=https://id.example.com", "-issuer https://id.example.com .data/admin.pat"},
		"data":    {"HERALD_DATA_DIR=/data", "-issuer http://localhost:8080 /data/admin.pat"},
		"token":   {"HERALD_ADMIN_PAT_FILE=/token", "-issuer http://localhost:8080 /token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := machine{t: t, bin: t.TempDir()}
			m.program("go", `echo "$@"`)
			example := exec.CommandContext(
				t.Context(), "make", "--no-print-directory", "-s", "-C", "../../../..", "example")
			example.Env = []string{"PATH=" + m.bin + ":" + os.Getenv("PATH")}
			if c.settings != "" {
				example.Env = append(example.Env, c.settings)
			}
			out, err := example.CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "./examples/login "+c.want+"\n") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
