package main_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
)

// keyFile makes a machine user and writes its key file.
func keyFile(i *whole.Instance) (userID, file string) {
	i.T.Helper()
	userID = i.Must("POST", "/management/v1/users/machine", `{"userName":"ci","name":"CI"}`)["userId"].(string)
	made := i.Must("POST", "/management/v1/users/"+userID+"/keys", `{"type":"KEY_TYPE_JSON"}`)
	text, err := base64.StdEncoding.DecodeString(made["keyDetails"].(string))
	if err != nil {
		i.T.Fatal(err)
	}
	file = i.Dir + "/key.json"
	if err := os.WriteFile(file, text, 0o600); err != nil {
		i.T.Fatal(err)
	}
	return userID, file
}

// An operator calls methods from the command line. In the folder of the instance its address and
// the administrator's token are found without flags.
func TestCall(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	nobody := i.Dir + "/nobody"
	if err := os.WriteFile(nobody, []byte("hrld_nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	person := `{"userId":"u1","userName":"mini","profile":{"firstName":"Mini","lastName":"Mouse"},` +
		`"email":{"email":"mini@example.com","isEmailVerified":true},"password":"correct horse battery"}`
	var imported struct{ UserID string }
	out, complaints, code := i.Herald(person, "call", "Imports.ImportHumanUser", "--json", "-")
	if err := json.Unmarshal([]byte(out), &imported); err != nil || code != 0 || imported.UserID != "u1" ||
		complaints != "" {
		t.Fatalf("import: exit code %d, %v\n%s%s", code, err, out, complaints)
	}
	machine, key := keyFile(i)
	otherName := strings.Replace(i.URL, "localhost", "127.0.0.1", 1)
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"Users.GetMyUser", "--key-file", key, "-o", "table"}, 0, []string{"user.id ", machine}},
		{[]string{"Users.GetMyUser", "--key-file", key, "--url", otherName}, 1, []string{"calls itself " + i.URL}},
		{[]string{"Users.SearchUsers", "--key-file", key}, 17, []string{"lacking: user.read"}},
		{[]string{"Users.SearchUsers", "--json", `{"queries":[{"userNameQuery":{"userName":"mini"}}]}`, "-o", "table"},
			0, []string{"id  ", "u1  ", "USER_STATE_ACTIVE", "Mini Mouse", "mini@example.com", "1 of 1\n"}},
		{[]string{"Users.GetUser", "--json", `{"userId":"u1"}`, "--url", i.URL, "--token-file", i.Dir +
			"/data/admin.pat"}, 0,
			[]string{"{\n  \"user\": {\n    \"id\": \"u1\",\n    \"details\": {\n      \"sequence\": \""}},
		{[]string{"Users.GetUser", "--json", `{"userId":"u1"}`, "-o", "table"}, 0, []string{
			"user.human.profile.displayName ", "  Mini Mouse\n",
		}},
		{[]string{"Users.GetUser", "--json", `{"userId":"nobody"}`}, 15, []string{
			"herald: USER_NOT_FOUND: User not found\n", "\n  request id: ",
		}},
		{[]string{"Imports.ImportHumanUser", "--json", strings.Replace(person, `"u1"`, `"u2"`, 1)}, 16,
			[]string{"request id: "}},
		{[]string{"Orgs.CreateOrg", "--json", `{"name":""}`}, 13, []string{"INVALID_ARGUMENT: ", "name"}},
		{[]string{"Orgs.GetMyOrg", "--org", "nowhere"}, 15, []string{"request id: "}},
		{[]string{"Users.GetMyUser", "--token-file", nobody}, 26, []string{"UNAUTHENTICATED: "}},
		{[]string{"Users.GetMyUser", "--url", i.Mails, "--token-file", nobody}, 1, []string{i.Mails}},
		{[]string{"Users.GetMyUser", "--url", "http://" + whole.FreeAddress(t), "--token-file", nobody}, 1,
			[]string{"connection refused"}},
		{[]string{"Users.GetMyUsr"}, 1, []string{"did you mean ", " Users.GetMyUser"}},
	} {
		out, complaints, code := i.Herald("", append([]string{"call"}, c.args...)...)
		said := out
		if code != 0 {
			said = complaints
		}
		if code != c.code || (code == 0) != (complaints == "") {
			t.Errorf("%q: exit code %d\n%s%s", c.args, code, out, complaints)
		}
		for _, s := range c.says {
			if !strings.Contains(said, s) {
				t.Errorf("%q does not say %q:\n%s", c.args, s, said)
			}
		}
	}
	if out, _, code := i.Herald("", "settings"); code != 0 ||
		!strings.Contains(out, "HERALD_TOKEN\n    or HERALD_TOKEN_FILE:") {
		t.Errorf("settings: exit code %d\n%s", code, out)
	}
	if out, _, code := i.Herald("", "completion", "bash"); code != 0 || !strings.Contains(out, "__start_herald") {
		t.Errorf("completion: exit code %d\n%s", code, out)
	}
}
