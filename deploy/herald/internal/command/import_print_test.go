package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// The first refusals are printed in the order of the file, and the others are counted. The order of the answers does
// not matter.
func TestFirstRefusals(t *testing.T) {
	t.Parallel()
	var answer strings.Builder
	answer.WriteString(`{"errors":[{"type":"org","id":"o","message":"No","reason":"ORG_NAME_TAKEN","row":"0"}`)
	var want strings.Builder
	want.WriteString("org o: No\n")
	for n := range 30 {
		fmt.Fprintf(&answer, `,{"type":"human_user","id":"u\\u001b","message":"No","reason":"TAKEN","row":"%d"}`, 30-n)
		if n+1 < mostPrinted {
			fmt.Fprintf(&want, "user %d u\\u001b: No\n", n+1)
		}
	}
	want.WriteString("… and 11 more\n")
	a, err := readAnswer(strings.NewReader(answer.String() + "]}"))
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if a.printRefusals(&said); said.String() != want.String() {
		t.Errorf("it says\n%s, want\n%s", said.String(), want.String())
	}
}

// The numbers of a summary stand below each other, with those of their kinds indented.
func TestSummary(t *testing.T) {
	t.Parallel()
	a, err := readAnswer(strings.NewReader(`{"newUsers":"9","knownUsers":"1","mails":"1","hashFormats":[
		{"format":"bcrypt","accepted":"2","refused":"1"},{"format":"pbkdf2","accepted":"7","refused":"0"},
		{"format":"unknown format","accepted":"0","refused":"2"}],
		"errors":[{"type":"human_user","id":"u","message":"No","reason":"B","row":"1"},
		{"type":"human_user","id":"v","message":"No","reason":"A","row":"2"},
		{"type":"import","id":"","message":"The end","reason":"IMPORT_TIMED_OUT","row":"0"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a.imported = 100
	var check, done bytes.Buffer
	a.print(&check, "people.json", true, time.Second)
	a.print(&done, "people.json", false, 1234*time.Millisecond)
	const checked = `12 users in people.json
   9 new
   1 imported before
   2 refused
     1 A
     1 B
12 password hashes
   9 can be verified (75 %)
     7 pbkdf2
     2 bcrypt
   3 cannot be verified
     2 unknown format
     1 bcrypt
 1 mail would be sent
`
	if got := check.String(); got != checked {
		t.Errorf("a check says\n%swant\n%s", got, checked)
	}
	const imported = `100 users imported in 1.2s
  2 refused
    1 A
    1 B
`
	if done.String() != imported {
		t.Errorf("an import says\n%swant\n%s", done.String(), imported)
	}
}

// Words that do not fit on a line of a terminal begin the next one.
func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		columns    int
	}{
		{"", "", 5},
		{"one two", "one two", 7},
		{"one two", "one\n  two", 6},
		{"a müß ich", "a müß\n  ich", 8},
		{"  two three", "  two\n  three", 9},
		{"overlong one", "overlong\n  one", 4},
		{"a b", "a\n  b", 0},
	} {
		if got := fold(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
