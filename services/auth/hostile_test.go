package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// payloads returns 84 attacks: each way to break out of a place in a page, with each kind of harm.
func payloads() (all []string) {
	for _, exit := range []string{
		"", `"`, `'`, `">`, `'>`, `</title>`, `</style>`, `</script>`, `-->`, `"/><!--`, "\r\n\r\n", `{{.}}`,
	} {
		for _, harm := range []string{
			`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`,
			` onfocus=alert(1) autofocus x=`,
			`<form action=//evil.example><input name=password>`, `<base href=//evil.example>`, `javascript:alert(1)`,
		} {
			all = append(all, exit+harm)
		}
	}
	return all
}

// shape returns a page's elements and attributes, without the values of inputs.
func shape(root *html.Node) (elements []string) {
	for n := range root.Descendants() {
		if n.Type == html.TextNode || n.Type == html.DocumentNode {
			continue
		}
		e := n.Data
		for _, a := range n.Attr {
			if a.Key == "href" {
				a.Val, _, _ = strings.Cut(a.Val, "?")
			}
			if a.Key != "value" {
				e += " " + a.Key + "=" + a.Val
			}
		}
		elements = append(elements, e)
	}
	return elements
}

// place is a part of a request into which a payload is put.
type place struct {
	name string
	page func(payload string) *httptest.ResponseRecorder
}

// places returns those of one kind of mail.
func places(t *testing.T, h http.Handler, j journey) (all []place) {
	add := func(name string, page func(payload string) *httptest.ResponseRecorder) {
		all = append(all, place{j.kind + " " + name, page})
	}
	post := func(values ...string) *httptest.ResponseRecorder { return call(t, h, j.path, j.filled(values...)) }
	for _, parameter := range []string{"userID", "orgID", "code", "passwordset", "other"} {
		add("opening with "+parameter, func(p string) *httptest.ResponseRecorder {
			return call(t, h, j.link(parameter, strings.TrimLeft(p, "\r\n")), nil)
		})
		add("refused with "+parameter, func(p string) *httptest.ResponseRecorder {
			return post("confirmation", "x", parameter, strings.TrimLeft(p, "\r\n"))
		})
	}
	add("password", func(p string) *httptest.ResponseRecorder { return post("password", p) })
	add("retry", func(p string) *httptest.ResponseRecorder {
		return post("code", "AWAY2222", "orgID", p, "userID", strings.TrimLeft(p, "\r\n"))
	})
	add("expired", func(p string) *httptest.ResponseRecorder { return post("code", "OVERDUE2", "orgID", p) })
	return all
}

func TestHostileParameters(t *testing.T) {
	t.Parallel()
	h, _, _ := world(t)
	all := []place{
		{"path", func(p string) *httptest.ResponseRecorder { return call(t, h, "/ui/"+url.PathEscape(p), nil) }},
		{"language", func(p string) *httptest.ResponseRecorder {
			return call(t, h, "/ui/x", nil, "Accept-Language", strings.TrimLeft(p, "\r\n"))
		}},
	}
	for _, j := range journeys {
		all = append(all, places(t, h, j)...)
	}
	for _, where := range all {
		t.Run(where.name, func(t *testing.T) {
			t.Parallel()
			plain := shape(parse(t, where.page("harmless").Body.String()))
			for _, p := range payloads() {
				w := where.page(p)
				if got := shape(parse(t, w.Body.String())); !slices.Equal(got, plain) {
					t.Fatalf("%q makes\n%q\nof\n%q", p, got, plain)
				}
				checkHeaders(t, w)
			}
		})
	}
}

func TestHostileLoginName(t *testing.T) {
	t.Parallel()
	h, u, _ := world(t)
	for _, j := range journeys {
		u.name("ada")
		plain := shape(parse(t, call(t, h, j.path, j.filled()).Body.String()))
		for _, p := range payloads() {
			u.name(p)
			root := parse(t, call(t, h, j.path, j.filled()).Body.String())
			if got := shape(root); !slices.Equal(got, plain) {
				t.Fatalf("%s: %q makes %q", j.kind, p, got)
			}
			if got := textOf(element(root, "strong", "class", "name")); got != strings.Join(strings.Fields(p), " ") {
				t.Errorf("%s: %q is shown as %q", j.kind, p, got)
			}
		}
	}
}

func checkHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	_, inline, _ := strings.Cut(w.Body.String(), "<style>")
	inline, _, _ = strings.Cut(inline, "</style>")
	sum := sha256.Sum256([]byte(inline))
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"Content-Type":           "text/html; charset=utf-8",
		"Referrer-Policy":        "same-origin",
		"Cache-Control":          "no-store",
		"X-Content-Type-Options": "nosniff",
		"X-Frame-Options":        "DENY",
		"X-Robots-Tag":           "noindex",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := w.Header().Values("Set-Cookie"); len(got) != 0 {
		t.Errorf("sets cookies %q", got)
	}
}

func TestFormsOfOtherSites(t *testing.T) {
	t.Parallel()
	h, u, _ := world(t)
	for _, test := range []struct {
		site, origin string
		refused      bool
	}{
		{"same-origin", public, false},
		{"same-origin", "null", false},
		{"none", "", false},
		{"cross-site", "https://evil.example", true},
		{"cross-site", "null", true},
		{"cross-site", "", true},
		{"same-site", "https://other.example.com", true},
		{"garbage", "", true},
		{"", public, false},
		{"", "", false}, // no browser sends this, so no victim's cookies are used
		{"", "null", true},
		{"", "https://evil.example", true},
		{"", "http://login.example.com", true},
		{"", "https://login.example.com:444", true},
		{"", "https://login.example.com.evil.example", true},
		{"", "https://evil.example/#" + public, true},
		{"", "//", true},
	} {
		for _, j := range journeys {
			before := len(u.requests())
			for _, path := range []string{j.path, j.path + "/resend"} {
				w := call(t, h, path, j.filled(), "Sec-Fetch-Site", test.site, "Origin", test.origin)
				if (w.Code == 403) != test.refused || (w.Code == 200) == test.refused {
					t.Errorf("%s: Sec-Fetch-Site %q, Origin %q: %d", path, test.site, test.origin, w.Code)
				}
				checkHeaders(t, w)
			}
			if test.refused && len(u.requests()) != before {
				t.Errorf("%s: Sec-Fetch-Site %q, Origin %q reached users", j.kind, test.site, test.origin)
			}
		}
	}
	for _, j := range journeys {
		if w := call(t, h, j.link(), nil, "Sec-Fetch-Site", "cross-site"); w.Code != 200 {
			t.Errorf("%s: a link from a mail: %d", j.kind, w.Code)
		}
	}
}

// No page contains the host that a request claims.
func TestHostHeaders(t *testing.T) {
	t.Parallel()
	h, _, _ := world(t)
	uris := []string{"/ui/x"}
	for _, j := range journeys {
		uris = append(uris, j.link(), j.link("code", "AWAY2222"))
	}
	for _, uri := range uris {
		want := call(t, h, uri, nil).Body.String()
		got := call(t, h, uri, nil, "Host", "evil.example", "X-Forwarded-Host", "evil.example",
			"X-Forwarded-Proto", "gopher",
			"Forwarded", "host=evil.example", "X-Original-URL", "/ui/evil").Body.String()
		if got != want {
			t.Errorf("%s depends on host headers", uri)
		}
	}
}

func TestOddBodiesOfForms(t *testing.T) {
	t.Parallel()
	h, u, _ := world(t)
	large := initialize.filled()
	large.Set("password", strings.Repeat("x", 64<<10))
	for _, test := range []struct {
		name, media, body string
		status            int
	}{
		{"too large", "application/x-www-form-urlencoded", large.Encode(), 413},
		{"JSON", "application/json", `{"userID":"u1"}`, 400},
		{"text", "text/plain", initialize.filled().Encode(), 400},
		{"multipart", "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"userID\"\r\n\r\nu1\r\n--x--\r\n", 400},
		{"broken", "application/x-www-form-urlencoded", "userID=%zz", 400},
		{"none", "application/x-www-form-urlencoded", "", 400},
	} {
		r := httptest.NewRequest("POST", initialize.path, strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.media)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("%s: %d", test.name, w.Code)
		}
		checkHeaders(t, w)
	}
	if got := u.requests(); len(got) != 0 {
		t.Errorf("users was asked %v", got)
	}
}
