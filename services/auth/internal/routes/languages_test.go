package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"herald/services/auth/internal/testworld"
	"herald/shared/testkit"
)

func TestPageIsInTheLanguageOfTheBrowser(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	for asked, want := range map[string]string{
		"": "en", "de": "de", "de-CH,fr;q=0.9": "de", "th, fr;q=0.5": "fr", "ja-JP": "ja", "JA": "ja", "th": "en",
		"*": "en", "fr;q=0, de;q=0.1": "de",
		"pt-BR,pt;q=0.9,en;q=0.8": "pt", "zh-CN": "zh", "zh-Hant-TW": "zh", "in": "id", "uk,ru;q=0.5": "uk",
		"en-GB-oxendict": "en", "de_AT": "de",
		// never a related language that was not asked for
		"be": "en", "az, kk;q=0.9": "en", "af, nl;q=0.1": "nl", "sr, mk;q=0.9": "mk",
		"not a language": "en", ";;;,,,": "en", strings.Repeat("a-", 7000): "en", strings.Repeat("de,", 5000): "de",
	} {
		t.Run(fmt.Sprintf("%.20q", asked), func(t *testing.T) {
			checkLanguage(t, h, asked, want)
		})
	}
	for _, tag := range testworld.Supported {
		checkLanguage(t, h, tag, tag)
	}
}

func checkLanguage(t *testing.T, h http.Handler, asked, want string) {
	t.Helper()
	w := testworld.Call(t, h, testworld.Initialize.Link("code", ""), nil, "Accept-Language", asked)
	page := testworld.Page(t, w).Find("html", "lang", want)
	if w.Code != 200 || !page.Exists() || w.Header().Get("Content-Language") != want {
		t.Errorf("%.40q is answered with %d in %q, want %s", asked, w.Code, w.Header().Get("Content-Language"), want)
		return
	}
	if direction := page.Attr("dir"); direction != "ltr" {
		t.Errorf("%s goes %q", want, direction)
	}
}

// Several headers Accept-Language count as one list.
func TestTwoHeadersOfLanguagesCountAsOne(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	r := httptest.NewRequest("GET", testworld.Initialize.Link("code", ""), nil)
	r.Header["Accept-Language"] = []string{"th", "de"}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if got := w.Header().Get("Content-Language"); got != "de" {
		t.Errorf("answered in %q", got)
	}
}

// Pages use the languages that text allows, on each replica, and work while text is away.
func TestPagesUseTheLanguagesThatTextAllows(t *testing.T) {
	t.Parallel()
	var clock testkit.Clock
	g := testkit.Ground(t)
	g.Now = clock.Now
	testworld.ServeUsers(t, g, &testworld.Users{})
	h := testworld.Open(t, g, testworld.Public)

	checkLanguage(t, h, "ja", "ja") // before text answered for the first time
	checkLanguage(t, h, "th", "en")

	x := &testworld.Text{Standard: "de", Allowed: []string{"de", "fr"}}
	server := x.Serve(t, g)
	clock.Advance(2 * time.Second)
	for asked, want := range map[string]string{"ja": "de", "en": "de", "fr-CA": "fr", "": "de", "th,fr": "fr"} {
		checkLanguage(t, h, asked, want)
	}

	x.Choose("uk", "uk")
	clock.Advance(2 * time.Second)
	checkLanguage(t, h, "ru", "uk")

	x.Choose("tlh", "tlh", "cs") // a language that only a newer version of text has
	clock.Advance(2 * time.Second)
	checkLanguage(t, h, "cs", "cs")
	checkLanguage(t, h, "tlh", "en")

	server.Stop()
	clock.Advance(time.Minute)
	checkLanguage(t, h, "cs", "cs")
	checkLanguage(t, h, "ja", "en")
}
