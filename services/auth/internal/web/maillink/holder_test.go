package maillink_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"herald/services/auth/internal/testworld"
	"herald/shared/testkit"
)

// A page with a right code names the organization and the login name, and speaks the mail's language until
// the reader picks another, on the pages after it too.
func TestPageWithARightCodeNamesItsUser(t *testing.T) {
	t.Parallel()
	h, _, x := testworld.New(t)
	for _, j := range testworld.Journeys {
		in := func(w *httptest.ResponseRecorder, language string) testkit.HTML {
			t.Helper()
			root := testworld.Page(t, w)
			if w.Header().Get("Content-Language") != language || !root.Find("html", "lang", language).Exists() {
				t.Errorf("%s: in %q, want %s", j.Kind, w.Header().Get("Content-Language"), language)
			}
			return root
		}
		mailed := in(testworld.Call(t, h, j.Link("code", "NAMED222"), nil, "Accept-Language", "fr"), "ja")
		if got := mailed.Find("p", "class", "whose").Text(); got != "Analytical & Coada <b>" {
			t.Errorf("%s: the page names %q", j.Kind, got)
		}
		if tag := mailed.Find("input", "name", "lang").Attr("value"); tag != "ja" {
			t.Errorf("%s: the form is posted in %q", j.Kind, tag)
		}
		picked := mailed.Find("a", "lang", "de").Attr("href")
		where, err := url.Parse(picked)
		if err != nil || where.Path != j.Path || where.Query().Get("code") != "NAMED222" {
			t.Errorf("%s: German is at %q", j.Kind, picked)
		}
		german := in(testworld.Call(t, h, picked, nil, "Accept-Language", "fr"), "de")
		if current := german.Find("a", "lang", "de").Attr("aria-current"); current != "true" {
			t.Errorf("%s: the page does not say that it is in German", j.Kind)
		}
		in(testworld.Call(t, h, j.Path, j.Filled("code", "WRONG222", "lang", "de"), "Accept-Language", "fr"), "de")
		in(testworld.Call(t, h, j.Path, j.Filled("lang", "de"), "Accept-Language", "fr"), "de")
		in(testworld.Call(t, h, j.Path+"/resend", testworld.Linked("lang", "de"), "Accept-Language", "fr"), "de")
		in(testworld.Call(t, h, j.Link("code", "NAMELESS"), nil, "Accept-Language", "fr"), "en")
		for _, strange := range []string{"tlh", "de-CH", "DE", `"><b>`, "", strings.Repeat("a", 1000)} {
			in(testworld.Call(t, h, j.Link("code", "WRONG222", "lang", strange), nil, "Accept-Language", "fr"), "fr")
		}
		for _, used := range []string{"WRONG222", "LOCKED22"} {
			in(testworld.Call(t, h, j.Link("code", used, "lang", "de"), nil, "Accept-Language", "fr"), "de")
		}
		wrong := in(testworld.Call(t, h, j.Link("code", "WRONG222"), nil, "Accept-Language", "fr"), "fr")
		if wrong.Find("p", "class", "whose").Exists() || wrong.Find("input", "name", "lang").Exists() {
			t.Errorf("%s: a page with a wrong code names somebody", j.Kind)
		}
	}
	for name, c := range map[string]struct {
		values []string
		named  bool
	}{
		"different passwords":  {[]string{"code", "NAMED222", "confirmation", "x"}, true},
		"no password":          {[]string{"code", "NAMED222", "password", "", "confirmation", ""}, true},
		"a password refused":   {[]string{"code", "NAMED222", "password", "short", "confirmation", "short"}, true},
		"a code refused":       {[]string{"code", "WRONG222"}, false},
		"with a wrong code":    {[]string{"code", "WRONG222", "confirmation", "x"}, false},
		"without a code":       {[]string{"code", ""}, false},
		"while users are away": {[]string{"code", "AWAY2222", "confirmation", "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := testworld.Call(t, h, testworld.Initialize.Path, testworld.Initialize.Filled(c.values...))
			whose := testworld.Page(t, w).Find("p", "class", "whose").Text()
			if w.Code != 400 || whose != map[bool]string{true: "Analytical & Coada <b>"}[c.named] {
				t.Errorf("%d, the page names %q", w.Code, whose)
			}
		})
	}
	if got := len(testworld.Supported); got != len(x.Allowed) {
		t.Errorf("%d languages", got)
	}
}

// A password manager keeps a new password with the login name, which only a right code shows.
func TestPasswordManagersLearnTheLoginName(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	for _, j := range testworld.Journeys {
		for code, want := range map[string]string{"NAMED222": "ada <b>", "WRONG222": "", "": ""} {
			name := testworld.Page(t, testworld.Call(t, h, j.Link("code", code), nil)).Find("input", "name", "username")
			if !j.Password {
				want = ""
			}
			if name.Attr("value") != want || name.Exists() != (want != "") {
				t.Errorf("%s with %q: the form has the login name %q", j.Kind, code, name.Attr("value"))
			}
			if want != "" && (name.Attr("autocomplete") != "username" || !name.Has("hidden") || !name.Has("readonly")) {
				t.Errorf("%s: the login name is %v", j.Kind, name.Node.Attr)
			}
		}
	}
}
