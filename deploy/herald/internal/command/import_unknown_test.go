package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// A check names the fields that an import does not know, each once, with the line of the first one.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	many := strings.Builder{}
	for n := range 30 {
		fmt.Fprintf(&many, `"x%d":1,`, n)
	}
	for name, c := range map[string]struct{ file, want string }{
		"none": {`{"timeout":"1s","dataOrgs":{"orgs":[{"orgId":"o","org":{"name":"O"},"humanUsers":[{"userId":"u",
			"user":{"user_name":"u","userName":"u","metadata":[{"key":"k","value":""}]}}],"machineUsers":[]}]}}`, ""},
		"misspelled": {"{\n\"dataorgs\":{\"a\":{\"b\":1}}}\n", "2 dataorgs 1"},
		"in lists": {"{\"dataOrgs\":{\"orgs\":[{\"humanUsers\":[\n{\"id\":1},\n{\"user\":{\"metadata\":[{},\n" +
			"{\"k\":1}]}},{\"id\":2}]}]}}",
			"2 dataOrgs.orgs.humanUsers.id 2, 4 dataOrgs.orgs.humanUsers.user.metadata.k 1"},
		"of machines": {`{"dataOrgs":{"orgs":[{"machineUsers":[{"user":{"profile":{"firstName":"M"}}}]}]}}`,
			"1 dataOrgs.orgs.machineUsers.user.profile 1"},
		"in lines": {"{\"orgId\":\"o\",\"userId\":\"u\",\"user\":{}}\n\nnothing\n{\"orgId\":\"o\",\"usr\":{}}\n" +
			"{\"orgId\":\"o\",\"humanUsers\":[{\"usr\":{}}]}\n", "4 usr 1, 5 humanUsers.usr 1"},
		"behind a line that is too long": {"{\"orgId\":\"o\"}\n\"" + strings.Repeat("x", 3<<20) +
			"\"\n{\"x\":1}", "3 x 1"},
		"of another type": {`{"dataOrgs":[1,"x",null,{"orgs":{"x":[[{"y":1}]]}}]}`,
			"1 dataOrgs.orgs.x 1"},
		"before an end": {"{\"x\":1,\"dataOrgs\":{\"y\"", "1 dataOrgs.y 1, 1 x 1"},
		"too deep":      {strings.Repeat(`{"dataOrgs":`, 100_000), "1 dataOrgs.dataOrgs 1"},
		"many":          {"{" + many.String() + `"y":1}`, "11 fields more are unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := t.TempDir() + "/file"
			if err := os.WriteFile(file, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := openImport(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var said bytes.Buffer
			ignoring := importFlags{check: true, ignoreUnknown: true}
			if err := ignoring.refuseUnknown(f, &said); err != nil {
				t.Fatal(err)
			}
			if err := new(importFlags).refuseUnknown(f, io.Discard); (err == nil) != (c.want == "") {
				t.Errorf("without the flag: %v", err)
			}
			got := strings.NewReplacer("warning: line ", "", ":", "", " is unknown and ignored (", " ",
				" times in the file)", "",
				" time in the file)", "", "\n", ", ").Replace(strings.TrimSpace(said.String()))
			if got != c.want && (name != "many" || !strings.HasSuffix(said.String(), c.want+"\n")) {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}
