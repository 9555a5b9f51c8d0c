package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// payloads break out of each place in a page, then do each kind of harm: 84 attacks.
func payloads() (all []string) {
	for _, exit := range []string{"", `"`, `'`, `">`, `'>`, `</title>`, `</style>`, `</script>`, `-->`, `"/><!--`, "\r\n\r\n", `{{.}}`} {
		for _, harm := range []string{
			`<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `<svg/onload=alert(1)>`, ` onfocus=alert(1) autofocus x=`,
			`<form action=//evil.example><input name=password>`, `<base href=//evil.example>`, `javascript:alert(1)`,
		} {
			all = append(all, exit+harm)
		}
	}
	return all
}

// shape lists a page's elements and attributes, without the values that are typed again.
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

func TestHostileParameters(t *testing.T) {
	t.Parallel()
	h, _ := world(t)
	type place struct {
		name string
		page func(payload string) *httptest.ResponseRecorder
	}
	post := func(path string, values ...string) *httptest.ResponseRecorder {
		return call(t, h, path, filled(values...))
	}
	var places []place
	for _, parameter := range []string{"userID", "orgID", "code", "passwordset", "other"} {
		places = append(places,
			place{"opening with " + parameter, func(p string) *httptest.ResponseRecorder {
				return call(t, h, initPath+"?"+mailed(parameter, strings.TrimLeft(p, "\r\n")).Encode(), nil)
			}},
			place{"refused with " + parameter, func(p string) *httptest.ResponseRecorder {
				return post(initPath, "confirmation", "x", parameter, strings.TrimLeft(p, "\r\n"))
			}})
	}
	places = append(places,
		place{"password", func(p string) *httptest.ResponseRecorder { return post(initPath, "password", p) }},
		place{"retry", func(p string) *httptest.ResponseRecorder {
			return post(initPath, "code", "AWAY2222", "orgID", p, "userID", strings.TrimLeft(p, "\r\n"))
		}},
		place{"expired", func(p string) *httptest.ResponseRecorder { return post(initPath, "code", "OVERDUE2", "orgID", p) }},
		place{"path", func(p string) *httptest.ResponseRecorder { return call(t, h, "/ui/"+url.PathEscape(p), nil) }},
		place{"language", func(p string) *httptest.ResponseRecorder {
			return call(t, h, "/ui/x", nil, "Accept-Language", strings.TrimLeft(p, "\r\n"))
		}},
	)
	for _, where := range places {
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
	h, u := world(t)
	plain := shape(parse(t, call(t, h, initPath, filled()).Body.String()))
	for _, p := range payloads() {
		u.name(p)
		root := parse(t, call(t, h, initPath, filled()).Body.String())
		if got := shape(root); !slices.Equal(got, plain) {
			t.Fatalf("%q makes %q", p, got)
		}
		if got := text(element(root, "strong", "class", "name")); got != strings.Join(strings.Fields(p), " ") {
			t.Errorf("%q is shown as %q", p, got)
		}
	}
}

func checkHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	_, inline, _ := strings.Cut(w.Body.String(), "<style>")
	inline, _, _ = strings.Cut(inline, "</style>")
	sum := sha256.Sum256([]byte(inline))
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
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
	h, u := world(t)
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
		{"", "", false}, // no browser: it has no cookies or addresses of a victim
		{"", "null", true},
		{"", "https://evil.example", true},
		{"", "http://login.example.com", true},
		{"", "https://login.example.com:444", true},
		{"", "https://login.example.com.evil.example", true},
		{"", "https://evil.example/#" + public, true},
		{"", "//", true},
	} {
		before := len(u.requests())
		w := call(t, h, initPath, filled(), "Sec-Fetch-Site", test.site, "Origin", test.origin)
		if (w.Code == 403) != test.refused || (w.Code == 200) == test.refused {
			t.Errorf("Sec-Fetch-Site %q, Origin %q: %d", test.site, test.origin, w.Code)
		}
		if test.refused && len(u.requests()) != before {
			t.Errorf("Sec-Fetch-Site %q, Origin %q reached users", test.site, test.origin)
		}
		checkHeaders(t, w)
	}
	if w := call(t, h, initPath+"?"+mailed().Encode(), nil, "Sec-Fetch-Site", "cross-site"); w.Code != 200 {
		t.Errorf("a link from a mail: %d", w.Code)
	}
}

// What a request claims about the host is on no page.
func TestHostHeaders(t *testing.T) {
	t.Parallel()
	h, _ := world(t)
	for _, uri := range []string{initPath + "?" + mailed().Encode(), initPath + "?" + mailed("code", "AWAY2222").Encode(), "/ui/x"} {
		want := call(t, h, uri, nil).Body.String()
		got := call(t, h, uri, nil, "Host", "evil.example", "X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "gopher",
			"Forwarded", "host=evil.example", "X-Original-URL", "/ui/evil").Body.String()
		if got != want {
			t.Errorf("%s depends on host headers", uri)
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	h, _ := world(t)
	for asked, want := range map[string]string{
		"": "en", "de": "de", "de-CH,fr;q=0.9": "de", "ko, fr;q=0.5": "fr", "ja-JP": "ja", "JA": "ja", "ko": "en", "*": "en", "fr;q=0, de;q=0.1": "de",
		"not a language": "en", ";;;,,,": "en", strings.Repeat("a-", 7000): "en", strings.Repeat("de,", 5000): "de",
	} {
		w := call(t, h, initPath+"?"+mailed().Encode(), nil, "Accept-Language", asked)
		root := parse(t, w.Body.String())
		page := element(root, "html", "lang", want)
		if page == nil || w.Header().Get("Content-Language") != want {
			t.Errorf("%.40q is answered in %q", asked, w.Header().Get("Content-Language"))
			continue
		}
		if direction, _ := attribute(page, "dir"); direction != "ltr" {
			t.Errorf("%s goes %q", want, direction)
		}
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	h, u := world(t)
	large := filled()
	large.Set("password", strings.Repeat("x", 64<<10))
	for _, test := range []struct {
		name, media, body string
		status            int
	}{
		{"too large", "application/x-www-form-urlencoded", large.Encode(), 413},
		{"JSON", "application/json", `{"userID":"u1"}`, 400},
		{"text", "text/plain", filled().Encode(), 400},
		{"multipart", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"userID\"\r\n\r\nu1\r\n--x--\r\n", 400},
		{"broken", "application/x-www-form-urlencoded", "userID=%zz", 400},
		{"none", "application/x-www-form-urlencoded", "", 400},
	} {
		r := httptest.NewRequest("POST", initPath, strings.NewReader(test.body))
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
