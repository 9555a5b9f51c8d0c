package frame

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// written writes a page for a request, in languages that are allowed.
func written(t *testing.T, r *http.Request, p Page) (*httptest.ResponseRecorder, *Frame) {
	t.Helper()
	l, err := New(allowing("fr", []string{"de", "en", "fr"}, always), time.Now,
		slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	p.Status, p.Name, p.Body, p.Data = http.StatusOK, "unknown", NoticeBody, ""
	w := httptest.NewRecorder()
	l.Write(w, r, p)
	return w, l
}

// After a reader has picked a language, all pages are in it, unless a page must be in another one.
func TestPagesKeepThePickedLanguage(t *testing.T) {
	t.Parallel()
	const cookie = pickedCookie + "="
	for _, c := range []struct {
		method, address, cookie, ofPage string
		want, kept                      string
	}{
		{"GET", "/ui/x", "", "", "en", ""},
		{"GET", "/ui/x?lang=de", "", "", "de", "de"},
		{"GET", "/ui/x?lang=ja", "", "", "en", ""}, // not allowed
		{"GET", "/ui/x?lang=%3Cb%3E", "", "", "en", ""},
		{"POST", "/ui/x?lang=de", "", "", "en", ""},
		{"GET", "/ui/x", cookie + "de", "", "de", ""},
		{"POST", "/ui/x", cookie + "de", "", "de", ""},
		{"GET", "/ui/x", cookie + "ja", "", "en", ""},
		{"GET", "/ui/x", cookie + "ja; " + cookie + "de", "", "de", ""},
		{"GET", "/ui/x?lang=fr", cookie + "de", "", "fr", "fr"},
		{"GET", "/ui/x?lang=de", cookie + "de", "", "de", ""},
		{"GET", "/ui/x", cookie + "de", "fr", "fr", ""},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.address, http.NoBody)
			r.Header.Set("Accept-Language", "en")
			if c.cookie != "" {
				r.Header.Set("Cookie", c.cookie)
			}
			w, l := written(t, r, Page{Language: c.ofPage})
			if got := w.Header().Get("Content-Language"); got != c.want {
				t.Errorf("the page is in %q", got)
			}
			kept := ""
			for _, set := range w.Result().Cookies() {
				if kept = set.Value; set.Name != pickedCookie || !set.Secure || !set.HttpOnly || set.Path != "/" ||
					set.MaxAge < 1 || set.SameSite != http.SameSiteLaxMode {
					t.Errorf("%v", set)
				}
			}
			if kept != c.kept {
				t.Errorf("the browser keeps %q", kept)
			}
			want := "fr" // asked by a client
			if c.want != "en" && c.ofPage == "" {
				want = c.want
			}
			if c.ofPage != "" {
				want = "de"
			}
			if got := l.Picked(r, []string{"ja", "fr"}); got != want {
				t.Errorf("of the languages of the client it is %q, want %q", got, want)
			}
		})
	}
}

// A page that can be opened again offers itself in other languages.
func TestPagesOfferOtherLanguagesIfTheyCanBeOpenedAgain(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"/ui/x":             `href="?lang=de"`,
		"/ui/x?lang=fr":     `href="?lang=de"`,
		"//evil.example/":   `href="?lang=de"`,
		"/ui/x?a=1&lang=fr": "", // a is an unchecked value
	} {
		w, _ := written(t, httptest.NewRequest("GET", "http://herald.example"+address, http.NoBody), Page{})
		if got := w.Body.String(); want != "" && !strings.Contains(got, want) ||
			strings.Contains(got, `class="languages"`) != (want != "") {
			t.Errorf("%s: %s", address, got[strings.Index(got, "<main>"):])
		}
	}
	w, _ := written(t, httptest.NewRequest("POST", "/ui/x", http.NoBody), Page{})
	if strings.Contains(w.Body.String(), `class="languages"`) {
		t.Errorf("the answer to a form offers other languages: %s", w.Body)
	}
}
