package maillink

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTidyReturnsLettersAndDigits(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"GUTERKXD":                 "GUTERKXD",
		"guterkxd":                 "GUTERKXD",
		" GUTE-RKXD\r\n":           "GUTERKXD",
		"gu te–rk—xd":              "GUTERKXD",
		"ＧＵＴＥＲＫＸ２":                 "GUTERKX2",
		"\u200bGUTER\u00a0KXD\xff": "GUTERKXD",
		"<b>":                      "B",
		"":                         "",
		" - ":                      "",
		strings.Repeat("A", 100):   strings.Repeat("A", 64),
		strings.Repeat("語", 100):   strings.Repeat("語", 21),
	} {
		t.Run(typed, func(t *testing.T) {
			if got := Tidy(typed); got != want {
				t.Errorf("Tidy(%q) = %q, want %q", typed, got, want)
			}
		})
	}
}

func FuzzReadLink(f *testing.F) {
	for _, seed := range []string{"userID=u1&code=GUTERKXD&orgID=o1&passwordset=true", "userID=%ff&code=%e3",
		"code=%00", "userID=a&userID=b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		l, ok := readLink(values)
		if !ok {
			return
		}
		for _, part := range []string{l.UserID, l.OrgID, l.Code} {
			if !utf8.ValidString(part) || strings.ContainsAny(part, "\x00\r\n") {
				t.Fatalf("%q has %q", query, part)
			}
		}
		if Tidy(l.Code) != l.Code || len(l.Code) > maxCode {
			t.Fatalf("the code %q is not tidy", l.Code)
		}
		again, err := url.Parse(l.address("/ui/x"))
		if err != nil || again.Path != "/ui/x" {
			t.Fatalf("address %q: %v", l.address("/ui/x"), err)
		}
		if same, ok := readLink(again.Query()); !ok || same != l {
			t.Fatalf("%+v becomes %+v", l, same)
		}
	})
}
