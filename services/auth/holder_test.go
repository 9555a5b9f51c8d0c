package auth

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// A page with a right code names the organization and the login name, and speaks the mail's language until
// the reader picks another, on the pages after it too.
func TestPagesAreOfTheCodesHolder(t *testing.T) {
	t.Parallel()
	h, _, x := world(t)
	for _, j := range journeys {
		in := func(w *httptest.ResponseRecorder, language string) *html.Node {
			t.Helper()
			root := parse(t, w.Body.String())
			if w.Header().Get("Content-Language") != language || element(root, "html", "lang", language) == nil {
				t.Errorf("%s: in %q, want %s", j.kind, w.Header().Get("Content-Language"), language)
			}
			return root
		}
		mailed := in(call(t, h, j.link("code", "NAMED222"), nil, "Accept-Language", "fr"), "ja")
		if got := textOf(element(mailed, "p", "class", "whose")); got != "Analytical & Coada <b>" {
			t.Errorf("%s: the page names %q", j.kind, got)
		}
		if tag, _ := attribute(element(mailed, "input", "name", "lang"), "value"); tag != "ja" {
			t.Errorf("%s: the form is posted in %q", j.kind, tag)
		}
		picked, _ := attribute(element(mailed, "a", "lang", "de"), "href")
		where, err := url.Parse(picked)
		if err != nil || where.Path != j.path || where.Query().Get("code") != "NAMED222" {
			t.Errorf("%s: German is at %q", j.kind, picked)
		}
		german := in(call(t, h, picked, nil, "Accept-Language", "fr"), "de")
		if current, _ := attribute(element(german, "a", "lang", "de"), "aria-current"); current != "true" {
			t.Errorf("%s: the page does not say that it is in German", j.kind)
		}
		in(call(t, h, j.path, j.filled("code", "WRONG222", "lang", "de"), "Accept-Language", "fr"), "de")
		in(call(t, h, j.path, j.filled("lang", "de"), "Accept-Language", "fr"), "de")
		in(call(t, h, j.path+"/resend", linked("lang", "de"), "Accept-Language", "fr"), "de")
		in(call(t, h, j.link("code", "NAMELESS"), nil, "Accept-Language", "fr"), "en")
		for _, strange := range []string{"tlh", "de-CH", "DE", `"><b>`, "", strings.Repeat("a", 1000)} {
			in(call(t, h, j.link("code", "WRONG222", "lang", strange), nil, "Accept-Language", "fr"), "fr")
		}
		for _, used := range []string{"WRONG222", "LOCKED22"} {
			in(call(t, h, j.link("code", used, "lang", "de"), nil, "Accept-Language", "fr"), "de")
		}
		wrong := in(call(t, h, j.link("code", "WRONG222"), nil, "Accept-Language", "fr"), "fr")
		if element(wrong, "p", "class", "whose") != nil || element(wrong, "input", "name", "lang") != nil {
			t.Errorf("%s: a page with a wrong code names somebody", j.kind)
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
		w := call(t, h, initialize.path, initialize.filled(c.values...))
		whose := textOf(element(parse(t, w.Body.String()), "p", "class", "whose"))
		if w.Code != 400 || whose != map[bool]string{true: "Analytical & Coada <b>"}[c.named] {
			t.Errorf("after a mistake, %s: %d, the page names %q", name, w.Code, whose)
		}
	}
	if got := len(supported); got != len(x.allowed) {
		t.Errorf("%d languages", got)
	}
}
