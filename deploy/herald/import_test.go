package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// importer runs herald import in its own folder.
type importer struct {
	*whole.Instance
	folder string
}

func (i importer) file(name, text string) string {
	i.T.Helper()
	if err := os.WriteFile(i.folder+"/"+name, []byte(text), 0o600); err != nil {
		i.T.Fatal(err)
	}
	return i.folder + "/" + name
}

func (i importer) text(name string) string {
	i.T.Helper()
	text, err := os.ReadFile(i.folder + "/" + name)
	if err != nil {
		i.T.Fatal(err)
	}
	return string(text)
}

// runs fails the test unless an import has the exit code and prints the texts.
func (i importer) runs(code int, says string, args ...string) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(i.T.Context(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, whole.Binary(i.T), append([]string{"import"}, args...)...)
	c.Env = i.Env
	out, err := c.CombinedOutput()
	if (err == nil) != (code == 0) || err != nil && c.ProcessState.ExitCode() != code {
		i.T.Fatalf("import %q: %v\n%s", args, err, out)
	}
	for part := range strings.SplitSeq(says, "|") {
		if !strings.Contains(string(out), part) {
			i.T.Errorf("import %q does not say %q:\n%s", args, part, out)
		}
	}
}

func packed(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	if _, err := io.WriteString(g, text); err != nil || g.Close() != nil {
		t.Fatal("gzip fails")
	}
	return b.String()
}

// importRow returns a row with a password hash.
func importRow(id, hash string) string {
	return fmt.Sprintf(`{"userId":%q,"user":{"userName":%q,"profile":{"firstName":"Mini","lastName":"Mouse"},`+
		`"email":{"email":"%s@example.com","isEmailVerified":true},"hashedPassword":{"value":%q}}}`, id, id, id, hash)
}

// A file of each form is checked, imported, corrected and imported again.
func TestImportFile(t *testing.T) {
	t.Parallel()
	i := importer{whole.Start(t), t.TempDir()}
	_, mine := i.Call("GET", "/management/v1/orgs/me", "")
	home := mine["org"].(map[string]any)["id"].(string)
	body := fmt.Sprintf(`{"dataOrgs":{"orgs":[{"orgId":%q,"humanUsers":[%s,%s,%s]}]}}`, home,
		importRow("a", whole.Hash), importRow("b", "plain"), importRow("c", whole.Hash))
	people := i.file("people.json", body)
	i.runs(1, "user 2 b of "+home+": hashedPassword.value: unknown format: |3 users in "+people+"\n  2 new\n"+
		"  0 imported before\n  1 refused\n    1 PASSWORD_HASH_INVALID\n3 password hashes\n"+
		"  2 can be verified (66.67 %)\n    2 pbkdf2-sha256\n  1 cannot be verified\n    1 unknown format\n"+
		"0 mails|herald: 1 user refused",
		people, "--check")
	if status, _ := i.Call("GET", "/management/v1/users/a", ""); status != 404 {
		t.Errorf("the check left a user: %d", status)
	}
	i.runs(1, "2 users imported in |1 refused\n  1 PASSWORD_HASH_INVALID\n|people.failed.json",
		people)
	failed := i.text("people.failed.json")
	if want := fmt.Sprintf("{\"dataOrgs\":{\"orgs\":[{\"orgId\":%q,\"humanUsers\":[\n%s]}]}}\n", home,
		importRow("b", "plain")); failed != want {
		t.Errorf("the file of refused users is\n%s, want\n%s", failed, want)
	}
	i.file("people.failed.json", strings.Replace(failed, `"plain"`, `"`+whole.Hash+`"`, 1))
	i.runs(0, "1 user imported in |0 refused", i.folder+"/people.failed.json")
	again := packed(t, strings.Replace(body, `"plain"`, `"`+whole.Hash+`"`, 1))
	i.runs(0, "3 users in |0 new\n|3 imported before\n|0 refused\n", i.file("again.json.gz", again), "--check")
	line := func(id, hash string) string {
		return strings.Replace(importRow(id, hash), "{", fmt.Sprintf(`{"orgId":%q,`, home), 1) + "\n"
	}
	lines := line("d", whole.Hash) + "nothing\n" + line("e", "plain") + line("f", whole.Hash)
	i.runs(1, "2 users imported in |2 refused|user 2: The line is not JSON|"+i.folder+"/bad.ndjson",
		i.file("lines.gz", packed(t, lines)), "--failed", i.folder+"/bad.ndjson")
	if got, want := i.text("bad.ndjson"), "nothing\n"+line("e", "plain"); got != want {
		t.Errorf("the file of refused users is\n%s, want\n%s", got, want)
	}
	broken := i.file("broken.json", strings.ReplaceAll(body, `"a"`, `"g"`)[:len(body)-20])
	i.runs(1, "1 user imported|ended early: "+broken+" breaks off at line 1, column ", broken)
	i.runs(1, "names the file that is imported", broken, "--failed", i.folder+"/../"+filepath.Base(i.folder)+
		"/broken.json")
	i.twice(home)
	i.unfit(body)
	i.runs(1, "none.json has no users: they are expected in dataOrgs", i.file("none.json", `{"dataOrgs":{}}`))
	i.runs(1, "other.json: line 1: users is unknown|docs/moving-in.md",
		i.file("other.json", `{"users":[{"userId":"x"}]}`))
	i.runs(1, "empty.json has no users: they are expected in dataOrgs",
		i.file("empty.json", `{"dataOrgs":{"orgs":[{"orgId":"empty"}]}}`), "--check")
	i.runs(0, "0 users imported",
		i.file("org.json", `{"dataOrgs":{"orgs":[{"orgId":"empty","org":{"name":"Empty"}}]}}`))
	i.runs(1, "no such file", i.folder+"/nowhere.json")
	none := i.file("none.json", "none")
	i.runs(13, "JSON_MALFORMED: "+none+" is not JSON at line 1, column 5 |request id: ", none)
	wrong := i.file("wrong.json", `{"dataOrgs":1}`)
	i.runs(13, "INVALID_ARGUMENT: "+wrong+": dataOrgs: must be an object\n  request id: ", wrong)
	i.runs(26, "UNAUTHENTICATED", people, "--token-file", i.file("nobody", "hrld_nobody"))
	i.runs(1, "connection refused|send the file again", people, "--url", "http://"+whole.FreeAddress(t),
		"--token-file", i.Dir+"/data/admin.pat")
}

// unfit fails the test unless files that no import takes are refused with what to do about them.
func (i importer) unfit(body string) {
	i.T.Helper()
	i.runs(1, i.folder+" is a folder", i.folder)
	i.runs(1, "is an archive or a spreadsheet", i.file("people.xlsx", "PK\x03\x04"+body))
	i.runs(1, "1 refused", i.file("bom.json", "\xef\xbb\xbf"+body), "--check")
	var wide strings.Builder
	for _, c := range []byte(body) {
		wide.Write([]byte{c, 0})
	}
	i.runs(1, "UTF-16: convert it to UTF-8", i.file("wide.json", wide.String()))
	i.runs(1, "UTF-16: convert it to UTF-8", i.file("marked.json", "\xff\xfe"+wide.String()))
	i.runs(1, "looks like CSV|docs/moving-in.md", i.file("people.csv", "id;name\n1;Mini\n"))
	i.runs(1, `it is a list: an import takes {"dataOrgs"`, i.file("list.json", "[\n{}]"))
	zipped := packed(i.T, body+strings.Repeat(" ", 1<<20))
	i.runs(1, "short.gz: the compressed file is damaged|compress it again", i.file("short.gz", zipped[:20]))
	i.runs(1, "cut.gz: the compressed file is damaged|compress it again", i.file("cut.gz", zipped[:len(zipped)-4]))
	i.runs(1, "no such file|--failed", i.file("good.json", strings.ReplaceAll(body, `"a"`, `"never"`)), "--failed",
		i.folder+"/nowhere/failed.json")
	if status, _ := i.Call("GET", "/management/v1/users/never", ""); status != 404 {
		i.T.Errorf("the import began, although the refused users could not be written: %d", status)
	}
	misspelled := strings.Replace(body, `"profile":{`, "\n"+`"profile":{"firstname":"Mini",`, 3)
	misspelled = strings.ReplaceAll(misspelled, `"a"`, `"other"`)
	file := i.file("misspelled.json", misspelled)
	const names = "line 2: dataOrgs.orgs.humanUsers.user.profile.firstname is unknown"
	i.runs(1, "misspelled.json: "+names+" (3 times in the file)|it has unknown fields: correct them (see "+
		"docs/moving-in.md), or import the rest with --ignore-unknown", file)
	if status, _ := i.Call("GET", "/management/v1/users/other", ""); status != 404 {
		i.T.Errorf("a file with unknown fields was imported: %d", status)
	}
	i.runs(1, "1 refused|misspelled.json: "+names+" (3 times in the file)|--ignore-unknown", file, "--check")
	i.runs(1, "warning: "+names+" and ignored (3 times |1 refused", file, "--check", "--ignore-unknown")
	i.runs(1, "imported in|1 refused", file, "--ignore-unknown")
}

// twice fails the test unless the check finds users of a file who conflict at a large distance, as
// the import does.
func (i importer) twice(org string) {
	i.T.Helper()
	rows := []string{importRow("t0", whole.Hash), importRow("t1", whole.Hash)}
	for k := range 1100 {
		rows = append(rows, importRow(fmt.Sprint("far", k), whole.Hash))
	}
	rows = append(rows, importRow("t0", whole.Hash), strings.Replace(importRow("t1", whole.Hash), "Mini", "Maxi", 1),
		strings.Replace(importRow("t2", whole.Hash), `"userName":"t2"`, `"userName":"T0"`, 1))
	file := i.file("twice.json", fmt.Sprintf(`{"dataOrgs":{"orgs":[{"orgId":%q,"humanUsers":[%s]}]}}`, org,
		strings.Join(rows, ",")))
	i.runs(1, "user 1104 t1 of "+org+": user 2 of the file has the same id|user 1105 t2 of "+org+": The user name "+
		"is taken|1105 users in |1103 new\n|0 imported before\n|2 refused\n|1 IMPORT_DIFFERS\n|1 USER_NAME_TAKEN\n",
		file, "--check")
	i.runs(1, "1103 users imported in |2 refused\n|user 1104 t1 of |user 1105 t2 of |1 IMPORT_DIFFERS\n|"+
		"1 USER_NAME_TAKEN\n", file)
}

// One bad user among a hundred thousand is refused; the others are imported.
func TestImportOfManyWithOneBad(t *testing.T) {
	t.Parallel()
	const n = 100_000
	i := importer{whole.Start(t, "HERALD_LOG_LEVEL=WARN"), t.TempDir()}
	var b strings.Builder
	b.WriteString(`{"dataOrgs":{"orgs":[{"orgId":"many","org":{"name":"Many"},"humanUsers":[`)
	for k := range n {
		if k > 0 {
			b.WriteByte(',')
		}
		hash := whole.Hash
		if k == 77_777 {
			hash = "plain"
		}
		b.WriteString(importRow(fmt.Sprintf("u%d", k), hash))
	}
	b.WriteString(`]}]}}`)
	i.runs(1, "99999 users imported in |1 refused|user 77778 u77777 of many: ", i.file("many.json", b.String()))
	failed := i.text("many.failed.json")
	if !strings.Contains(failed, "u77777") || strings.Count(failed, "userId") != 1 {
		t.Errorf("refused users: %s", failed)
	}
	status, org := i.Call("GET", "/admin/v1/orgs/many", "")
	if status != 200 || org["org"].(map[string]any)["name"] != "Many" {
		t.Errorf("%d %v", status, org)
	}
}
