package testworld

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"herald/shared/testkit"
)

// PageTexts returns the texts of pages in a language, by their keys.
func PageTexts(t *testing.T, language string) (texts map[string]string) {
	t.Helper()
	folder := "internal/web/frame/texts"
	for tries := 0; tries < 5; tries++ { // a test runs in the folder of its package
		if _, err := os.Stat(folder); err == nil {
			break
		}
		folder = filepath.Join("..", folder)
	}
	for _, name := range []string{language, "account/" + language} {
		data, err := os.ReadFile(filepath.Join(folder, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &texts); err != nil { // adds to the ones that are there
			t.Fatal(err)
		}
	}
	return texts
}

// Call makes a GET request, or a POST request if there is a form. Each post comes from another client.
func Call(t *testing.T, h http.Handler, uri string, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", uri, nil)
	if form != nil {
		r = post("client "+rand.Text(), uri, form)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	// LoginPath is the first page of a login.
	LoginPath = "/ui/login/"
	// SessionCookie is the cookie of a session.
	SessionCookie = "__Host-herald-session"
	// LoginCookie is the cookie of a login that has begun.
	LoginCookie = "__Host-herald-login"
)

// Named returns the form of a login with a password.
func Named(password string) url.Values { return url.Values{"name": {"ada"}, "current": {password}} }

// Cookie returns a cookie that an answer sets, "" if it sets none, and checks its attributes.
func Cookie(t *testing.T, w *httptest.ResponseRecorder, name string) string {
	t.Helper()
	for _, c := range w.Result().Cookies() {
		if c.Name != name || c.MaxAge < 0 {
			continue
		}
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
			len(c.Value) != 43 || c.MaxAge == 0 {
			t.Errorf("cookie %v", c)
		}
		return c.Name + "=" + c.Value
	}
	return ""
}

// Page returns the page of an answer.
func Page(t *testing.T, w *httptest.ResponseRecorder) testkit.HTML {
	t.Helper()
	return testkit.ParseHTML(t, strings.NewReader(w.Body.String()))
}

// Shows fails the test unless an answer is the page of that name.
func Shows(t *testing.T, w *httptest.ResponseRecorder, status int, name string) {
	t.Helper()
	title := Page(t, w).Find("h1").Text()
	if w.Code != status || title != PageTexts(t, "en")[name+".title"] {
		t.Errorf("%d %q, want %d %s", w.Code, title, status, name)
	}
}

// To returns where an answer leads the browser by itself.
func To(w *httptest.ResponseRecorder) string { return testkit.Onward(w.Header()) }

// Leads fails the test unless an answer leads to another page.
func Leads(t *testing.T, w *httptest.ResponseRecorder, to string) {
	t.Helper()
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != to {
		t.Errorf("%d to %q, want %q", w.Code, w.Header().Get("Location"), to)
	}
}

// PostFrom posts a form as a client with that address.
func PostFrom(h http.Handler, client, uri string, form url.Values) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, post(client, uri, form))
	return w
}

func post(client, uri string, form url.Values) *http.Request {
	r := httptest.NewRequest("POST", uri, strings.NewReader(form.Encode()))
	r.RemoteAddr = client
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Cookie", "__Host-herald-cookies=1") // a page has set it
	return r
}
