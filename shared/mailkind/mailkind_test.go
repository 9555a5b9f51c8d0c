package mailkind_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"herald/shared/mailkind"
)

func TestParse(t *testing.T) {
	t.Parallel()
	paths := map[string]bool{}
	for _, kind := range mailkind.All() {
		if got, err := mailkind.Parse(string(kind)); got != kind || err != nil {
			t.Errorf("%s is read as %q, %v", kind, got, err)
		}
		path := kind.Page().Path
		if kind.Notice() != (path == "") || kind.Notice() == slices.Contains(mailkind.Coded(), kind) {
			t.Errorf("%s has the page %q: a notice %t, coded %v", kind, path, kind.Notice(), mailkind.Coded())
		}
		if path != "" && (!strings.HasPrefix(path, "/ui/login/") || paths[path]) {
			t.Errorf("%s has the page %q", kind, path)
		}
		paths[path] = true
	}
	for _, name := range []string{"", "Init", "init ", "test", "phone"} {
		if got, err := mailkind.Parse(name); got != "" || err == nil {
			t.Errorf("%q is read as %q", name, got)
		}
	}
	unknown := mailkind.Kind("test")
	if page := unknown.Page(); page != (mailkind.Page{}) || unknown.Notice() {
		t.Errorf("a mail that is no kind leads to %v and is a notice: %t", page, unknown.Notice())
	}
}

// The contract of notifications says which kinds there are, and all others refer to it.
func TestContractNamesEveryKind(t *testing.T) {
	t.Parallel()
	contract, err := os.ReadFile("../proto/herald/notification/v1/notification.proto")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(contract), "// The kind of mail: ")
	list, _, _ = strings.Cut(list, "string kind")
	list = strings.NewReplacer(",", " ", ".", " ", "\n", " ").Replace(list)
	for _, kind := range append(mailkind.All(), "test") {
		if !strings.Contains(" "+list+" ", " "+string(kind)+" ") {
			t.Errorf("notification.proto says that the kinds are %q, which lacks %s", list, kind)
		}
	}
}
