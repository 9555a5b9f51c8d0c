package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

var (
	body = search.Column{Exact: "body", Folded: "body_folded"}
	// amongTexts is the same with the condition for an index of several texts.
	amongTexts = search.Column{
		Exact: "body", Folded: "body_folded", Among: `(E'\n' || id || E'\n' || body || E'\n' || body_folded || E'\n')`,
	}
)

// bodies are stored and searched for: signs with a meaning in LIKE, in SQL and in
// the builder itself, and letters that fold in unusual ways.
var bodies = []string{
	"", " ", "a", "A", "abc", "ABC", "xabcx", "100%", "100", "1000", "%", "%%", "_", "__", "a_c", "a%c", `\`,
	`\\`, `\%`, `%\`, `a\`, `\_`,
	"?", "??", "$1", "$2", "'", "''", `"`, "x' or '1'='1", "'; drop table texts; --", "x') or true --", "/*",
	"E'\\'' ", "{a,b}", "null",
	"İstanbul", "i\u0307stanbul", "istanbul", "ıstanbul", "Straße", "STRASSE", "strasse", "STRAẞE", "ﬃ", "ffi",
	"FFI", "Σίσυφος", "ΣΊΣΥΦΟΣ",
	"\u00c5ngström", "A\u030angström", "\u212bngström", "ångström", "angström", "\u0390", "\u03aa\u0301", "Ⅷ", "viii",
	"ｆｕｌｌ", "full",
	"日本語", "🙂", "a\nb", "a\tb", "\u200b", "\U0010ffff", "\U0010ffff\U0010ffffa", "a\U0010ffff", "a\U0010ffffb",
	"\ud7ff", "\ud7ffa", "\ue000", "b", "ǅ", "ǆ", "\u0301",
}

// matches is the specified meaning of a text method.
func matches(stored string, method heraldv1.TextQueryMethod, value string) bool {
	name, anyCase := strings.CutSuffix(method.String(), "_IGNORE_CASE")
	if anyCase {
		stored, value = search.Fold(stored), search.Fold(value)
	}
	switch name {
	case "TEXT_QUERY_METHOD_EQUALS":
		return stored == value
	case "TEXT_QUERY_METHOD_STARTS_WITH":
		return strings.HasPrefix(stored, value)
	case "TEXT_QUERY_METHOD_CONTAINS":
		return strings.Contains(stored, value)
	case "TEXT_QUERY_METHOD_ENDS_WITH":
		return strings.HasSuffix(stored, value)
	}
	panic("a method without meaning: " + name)
}

// Every method finds exactly the specified texts.
func TestText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, b := range bodies {
		w.add(fmt.Sprintf("%03d", i), b)
	}
	for number := range heraldv1.TextQueryMethod_name {
		method := heraldv1.TextQueryMethod(number)
		t.Run(method.String(), func(t *testing.T) {
			for _, value := range bodies {
				var want []string
				for i, b := range bodies {
					if matches(b, method, value) {
						want = append(want, fmt.Sprintf("%03d", i))
					}
				}
				for _, column := range []search.Column{body, amongTexts} {
					got := w.read(among().Where("id >= ?", "0").Text(column, method, value),
						search.Page{Limit: 1000, Asc: true})
					if !slices.Equal(ids(got), want) || got.Total != uint64(len(want)) {
						t.Errorf("%q in %+v: found %v of %d, want %v", value, column, ids(got), got.Total, want)
					}
				}
			}
		})
	}
}

// What is one text to a reader folds to one text.
func TestFold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		folded string
		texts  []string
	}{
		{"", []string{""}},
		{"strasse", []string{"Straße", "STRASSE", "straße", "STRAẞE", "ſtrasse"}},
		{"ffi", []string{"ﬃ", "FFI", "fﬁ", "ｆｆｉ"}},
		{"i\u0307", []string{"İ", "i\u0307", "I\u0307"}},
		{"ı", []string{"ı"}},
		{"i", []string{"I", "i", "ⅰ", "Ⅰ"}},
		{"σισυφοσ", []string{"ΣΙΣΥΦΟΣ", "σισυφος", "σισυφοσ"}},
		{"\u00e5", []string{"\u00c5", "A\u030a", "a\u030a", "\u212b", "\u00e5"}},
		{"\u0390", []string{"\u0390", "\u1fd3", "\u03aa\u0301", "\u03b9\u0308\u0301"}},
		{"ǰ", []string{"ǰ", "J\u030c", "j\u030c"}},
		{"k", []string{"K", "\u212a", "k"}},
		{"日本語 🙂", []string{"日本語 🙂"}},
		{"میخواهم", []string{"می\u200cخواهم", "میخواهم"}},
	} {
		for _, text := range c.texts {
			if got := search.Fold(text); got != c.folded {
				t.Errorf("%q (%+q) folds to %+q, want %+q", text, text, got, c.folded)
			}
		}
	}
}

func FuzzFold(f *testing.F) {
	for _, b := range bodies {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, s string) {
		folded := search.Fold(s)
		if again := search.Fold(folded); again != folded {
			t.Errorf("%+q folds to %+q, and that to %+q", s, folded, again)
		}
		if !utf8.ValidString(s) {
			return
		}
		for _, same := range []string{
			norm.NFC.String(s), norm.NFD.String(s), norm.NFKC.String(s), norm.NFKD.String(s),
		} {
			if got := search.Fold(same); got != folded {
				t.Errorf("%+q folds to %+q, but %+q to %+q", s, folded, same, got)
			}
		}
	})
}

// A search finds a text exactly when the model says so, and what Postgres cannot
// store is the caller's fault.
func FuzzText(f *testing.F) {
	w := newWorld(f)
	for i, b := range bodies {
		f.Add(b, bodies[(i*7+3)%len(bodies)], uint8(i))
		f.Add(b, b[:len(b)/2], uint8(i))
		f.Add(b, b[len(b)/2:], uint8(i+128))
	}
	f.Add("a", "\x00", uint8(0))
	f.Add("a", "\xff", uint8(1))
	f.Fuzz(func(t *testing.T, stored, value string, number uint8) {
		w := world{t, w.db}
		method, column := heraldv1.TextQueryMethod(int(number)%len(heraldv1.TextQueryMethod_name)), body
		if number >= 128 {
			column = amongTexts
		}
		stored = strings.ToValidUTF8(strings.ReplaceAll(stored, "\x00", ""), "")
		w.exec(`insert into texts (id, body, body_folded) values ('one', $1, $2) on conflict (id) do update set body `+
			`= $1, body_folded = $2`, stored, search.Fold(stored))
		got, err := search.Read[text](t.Context(), w.db, among().Text(column, method, value), search.Page{Limit: 1})
		if strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
			if fault.From(err).Code != fault.Invalid {
				t.Errorf("%q: %v", value, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		want := matches(stored, method, value)
		if (got.Total == 1) != want || (len(got.Rows) == 1) != want {
			t.Errorf("%q %v %q: found %d, want %v", stored, method, value, got.Total, want)
		}
	})
}
