package oauth_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// herald returns a command of a person with an own configuration, without the token of the administrator.
func (w world) herald(config string, args ...string) *exec.Cmd {
	w.TB.Helper()
	c := exec.CommandContext(w.TB.Context(), whole.Binary(w.TB), append(args, "--url", w.URL)...)
	c.Env = append(os.Environ(), "XDG_CONFIG_HOME="+config)
	return c
}

// A person logs in at the command line with a code, calls the API until long after the first token has ended, and
// logs out.
func TestCommandLineLogsIn(t *testing.T) {
	t.Parallel()
	w, c, config := start(t), open(t), t.TempDir()
	w.Must("POST", "/management/v1/users/human/_import", person("ada", ""))
	login := w.herald(config, "login", "--client-id", w.device("Command line"))
	said, err := login.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	first, err := bufio.NewReader(said).ReadString('\n')
	shown := regexp.MustCompile(`^Open (\S+) and enter the code (\S+)\n$`).FindStringSubmatch(first)
	if err != nil || shown == nil {
		t.Fatalf("%v %q", err, first)
	}
	c.visit(shown[1])
	c.submit("code", shown[2])
	c.submit("name", "ada", "current", "correct horse")
	if got := c.submit(); got != "Your device is connected" {
		t.Fatalf("letting it in leads to %q", got)
	}
	if err := login.Wait(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(config + "/herald/*")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %q", err, files)
	}
	if about, err := os.Stat(files[0]); err != nil || about.Mode() != 0o600 {
		t.Errorf("%v %v", err, about.Mode())
	}
	before := w.asAda(config)
	// The token has ended.
	var kept map[string]any
	if err := json.Unmarshal([]byte(before), &kept); err != nil {
		t.Fatal(err)
	}
	kept["token"].(map[string]any)["expiry"] = time.Now().Add(-time.Hour)
	ended, err := json.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], ended, 0o600); err != nil {
		t.Fatal(err)
	}
	if after := w.asAda(config); strings.Contains(after, kept["token"].(map[string]any)["access_token"].(string)) {
		t.Error("the token is not renewed")
	}
	if out, err := w.herald(config, "logout").CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	if out, err := w.herald(config, "call", "Users.GetMyUser").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "herald login") {
		t.Errorf("after the logout: %v %s", err, out)
	}
	// What a thief has copied before is worth nothing.
	if err := os.WriteFile(files[0], ended, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := w.herald(config, "call", "Users.GetMyUser").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "has ended: log in again") {
		t.Errorf("with the old file: %v %s", err, out)
	}
}

// asAda checks that a call is Ada's, and returns the kept login.
func (w world) asAda(config string) string {
	w.TB.Helper()
	out, err := w.herald(config, "call", "Users.GetMyUser", "-o", "id").CombinedOutput()
	if err != nil || string(out) != "ada\n" {
		w.TB.Fatalf("%v %s", err, out)
	}
	files, _ := filepath.Glob(config + "/herald/*.json")
	text, err := os.ReadFile(files[0])
	if err != nil {
		w.TB.Fatal(err)
	}
	return string(text)
}
