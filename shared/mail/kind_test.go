package mail_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"herald/shared/mail"
)

func TestParseKind(t *testing.T) {
	t.Parallel()
	paths := map[string]bool{}
	for _, kind := range mail.Kinds() {
		if got, err := mail.ParseKind(string(kind)); got != kind || err != nil {
			t.Errorf("%s is read as %q, %v", kind, got, err)
		}
		path := kind.Page().Path
		if kind.Notice() != (path == "") || kind.Notice() == slices.Contains(mail.CodedKinds(), kind) {
			t.Errorf("%s has the page %q: a notice %t, coded %v", kind, path, kind.Notice(), mail.CodedKinds())
		}
		if path != "" && (!strings.HasPrefix(path, "/ui/login/") || paths[path]) {
			t.Errorf("%s has the page %q", kind, path)
		}
		paths[path] = true
	}
	for _, name := range []string{"", "Init", "init ", "test", "phone"} {
		if got, err := mail.ParseKind(name); got != "" || err == nil {
			t.Errorf("%q is read as %q", name, got)
		}
	}
	unknown := mail.Kind("test")
	if page := unknown.Page(); page != (mail.Page{}) || unknown.Notice() {
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
	for _, kind := range append(mail.Kinds(), "test") {
		if !strings.Contains(" "+list+" ", " "+string(kind)+" ") {
			t.Errorf("notification.proto says that the kinds are %q, which lacks %s", list, kind)
		}
	}
}
