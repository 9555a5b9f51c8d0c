package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// copied lists the files that deploy/generate.sh reads and writes.
var copied = []string{"tools", "deploy/generate.sh", "buf.yaml", "buf.gen.yaml", "shared/proto", "shared/event",
	"shared/gen", "shared/fault", "services/users/internal/api", "services/projects", "services/text",
	"services/notification",
	"services/auth", "services/idp", "docs"}

const (
	usersProto = "shared/proto/herald/users/v1/users.proto"
	usersCode  = "shared/gen/herald/users/v1/users_grpc.pb.go"
)

// progress is what Go prints while it downloads the tools, on a machine that does not have them yet.
var progress = regexp.MustCompile(`(?m)^go: downloading .*\n`)

// copyRepository returns a copy of the repository in which a test can change contracts.
func copyRepository(t *testing.T) string {
	t.Helper()
	const root = "../.."
	to := t.TempDir()
	for _, name := range copied {
		from, target := filepath.Join(root, name), filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(from)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			err = os.CopyFS(target, os.DirFS(from))
		} else {
			var text []byte
			text, err = os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(target, text, info.Mode())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// After a new method in a contract the script says which Go methods are missing. A broken contract
// changes nothing.
func TestMissingMethods(t *testing.T) {
	t.Parallel()
	root := copyRepository(t)
	generate := func(text, instead string) string {
		changed := strings.Replace(read(t, root, usersProto), text, instead, 1)
		if err := os.WriteFile(filepath.Join(root, usersProto), []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "deploy/generate.sh")
		c.Dir, c.Env = root, append(os.Environ(), "GOWORK=off")
		out, err := c.CombinedOutput()
		if err == nil {
			t.Errorf("it ended well: %s", out)
		}
		return progress.ReplaceAllString(string(out), "")
	}
	docs, before := read(t, root, "docs/openapi.json"), read(t, root, usersCode)

	const methods = "service Users {\n"
	out := generate(methods, "service Users {{\n")
	if !strings.Contains(out, usersProto) || read(t, root, usersCode) != before {
		t.Errorf("a broken contract: %s", out)
	}

	const more = `service Users {
  // Is new.
  rpc BurnUser(GetUserRequest) returns (GetUserResponse) {
    option (herald.v1.access) = {permission: "user.read"};
    option (google.api.http) = {get: "/management/v1/users/{user_id}/_burn"};
  }
  // Is new too.
  rpc FreezeUser(GetUserRequest) returns (GetUserResponse) {
    option (herald.v1.access) = {permission: "user.read"};
    option (google.api.http) = {get: "/management/v1/users/{user_id}/_freeze"};
  }
`
	out = generate("service Users {{\n", more)
	if !strings.HasPrefix(out, "docs stays as it is until the methods of the contracts are there in Go: write "+
		"Users.BurnUser Users.FreezeUser in") || strings.Count(out, "\n") != 1 {
		t.Errorf("two methods are missing: %s", out)
	}
	if text := read(t, root, usersCode); !strings.Contains(text, "BurnUser(") || !strings.Contains(text, "GetUser(") {
		t.Error("the code of the contracts is not new, or not whole")
	}
	if read(t, root, "docs/openapi.json") != docs {
		t.Error("the documents changed")
	}
	if left, err := os.ReadDir(filepath.Join(root, ".build")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
