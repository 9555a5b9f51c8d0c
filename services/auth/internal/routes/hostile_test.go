package routes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"herald/services/auth/internal/testworld"
)

// place is a part of a request into which a payload is put.
type place struct {
	name string
	page func(payload string) *httptest.ResponseRecorder
}

// places returns those of one kind of mail.
func places(t *testing.T, h http.Handler, j testworld.Journey) (all []place) {
	add := func(name string, page func(payload string) *httptest.ResponseRecorder) {
		all = append(all, place{j.Kind + " " + name, page})
	}
	post := func(values ...string) *httptest.ResponseRecorder {
		return testworld.Call(t, h, j.Path, j.Filled(values...))
	}
	for _, parameter := range []string{"userID", "orgID", "code", "passwordset", "other"} {
		add("opening with "+parameter, func(p string) *httptest.ResponseRecorder {
			return testworld.Call(t, h, j.Link(parameter, strings.TrimLeft(p, "\r\n")), nil)
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

func TestParametersAreShownAsText(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	all := []place{
		{"path", func(p string) *httptest.ResponseRecorder {
			return testworld.Call(t, h, "/ui/"+url.PathEscape(p),
				nil)
		}},
		{"language", func(p string) *httptest.ResponseRecorder {
			return testworld.Call(t, h, "/ui/x", nil, "Accept-Language", strings.TrimLeft(p, "\r\n"))
		}},
	}
	for _, j := range testworld.Journeys {
		all = append(all, places(t, h, j)...)
	}
	for _, where := range all {
		t.Run(where.name, func(t *testing.T) {
			t.Parallel()
			plain := testworld.Shape(testworld.Page(t, where.page("harmless")))
			for _, p := range testworld.Payloads() {
				w := where.page(p)
				if got := testworld.Shape(testworld.Page(t, w)); !slices.Equal(got, plain) {
					t.Fatalf("%q makes\n%q\nof\n%q", p, got, plain)
				}
				testworld.CheckHeaders(t, w)
			}
		})
	}
}

func TestLoginNameIsShownAsText(t *testing.T) {
	t.Parallel()
	h, u, _ := testworld.New(t)
	for _, j := range testworld.Journeys {
		u.Set(func(u *testworld.Users) { u.LoginName = "ada" })
		plain := testworld.Shape(testworld.Page(t, testworld.Call(t, h, j.Path, j.Filled())))
		for _, p := range testworld.Payloads() {
			u.Set(func(u *testworld.Users) { u.LoginName = p })
			root := testworld.Page(t, testworld.Call(t, h, j.Path, j.Filled()))
			if got := testworld.Shape(root); !slices.Equal(got, plain) {
				t.Fatalf("%s: %q makes %q", j.Kind, p, got)
			}
			if got := root.Find("strong", "class", "name").Text(); got != strings.Join(strings.Fields(p), " ") {
				t.Errorf("%s: %q is shown as %q", j.Kind, p, got)
			}
		}
	}
}

func TestFormsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	h, u, _ := testworld.New(t)
	for _, test := range []struct {
		site, origin string
		refused      bool
	}{
		{"same-origin", testworld.Public, false},
		{"same-origin", "null", false},
		{"none", "", false},
		{"cross-site", "https://evil.example", true},
		{"cross-site", "null", true},
		{"cross-site", "", true},
		{"same-site", "https://other.example.com", true},
		{"garbage", "", true},
		{"", testworld.Public, false},
		{"", "", false}, // no browser sends this, so no victim's cookies are used
		{"", "null", true},
		{"", "https://evil.example", true},
		{"", "http://login.example.com", true},
		{"", "https://login.example.com:444", true},
		{"", "https://login.example.com.evil.example", true},
		{"", "https://evil.example/#" + testworld.Public, true},
		{"", "//", true},
	} {
		t.Run(fmt.Sprintf("%q %q", test.site, test.origin), func(t *testing.T) {
			for _, j := range testworld.Journeys {
				before := len(u.Requests())
				for _, path := range []string{j.Path, j.Path + "/resend"} {
					w := testworld.Call(t, h, path, j.Filled(), "Sec-Fetch-Site", test.site, "Origin", test.origin)
					if (w.Code == 403) != test.refused || (w.Code == 200) == test.refused {
						t.Errorf("%s: %d", path, w.Code)
					}
					testworld.CheckHeaders(t, w)
				}
				if test.refused && len(u.Requests()) != before {
					t.Errorf("%s reached users", j.Kind)
				}
			}
		})
	}
	for _, j := range testworld.Journeys {
		if w := testworld.Call(t, h, j.Link(), nil, "Sec-Fetch-Site", "cross-site"); w.Code != 200 {
			t.Errorf("%s: a link from a mail: %d", j.Kind, w.Code)
		}
	}
}

// No page contains the host that a request claims.
func TestPagesIgnoreTheHostOfARequest(t *testing.T) {
	t.Parallel()
	h, _, _ := testworld.New(t)
	uris := []string{"/ui/x"}
	for _, j := range testworld.Journeys {
		uris = append(uris, j.Link(), j.Link("code", "AWAY2222"))
	}
	for _, uri := range uris {
		want := testworld.Call(t, h, uri, nil).Body.String()
		got := testworld.Call(t, h, uri, nil, "Host", "evil.example", "X-Forwarded-Host", "evil.example",
			"X-Forwarded-Proto", "gopher",
			"Forwarded", "host=evil.example", "X-Original-URL", "/ui/evil").Body.String()
		if got != want {
			t.Errorf("%s depends on host headers", uri)
		}
	}
}

func TestUnreadableFormsAreRefused(t *testing.T) {
	t.Parallel()
	h, u, _ := testworld.New(t)
	large := testworld.Initialize.Filled()
	large.Set("password", strings.Repeat("x", 64<<10))
	for _, test := range []struct {
		name, media, body string
		status            int
	}{
		{"too large", "application/x-www-form-urlencoded", large.Encode(), 413},
		{"JSON", "application/json", `{"userID":"u1"}`, 400},
		{"text", "text/plain", testworld.Initialize.Filled().Encode(), 400},
		{"multipart", "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"userID\"\r\n\r\nu1\r\n--x--\r\n", 400},
		{"broken", "application/x-www-form-urlencoded", "userID=%zz", 400},
		{"none", "application/x-www-form-urlencoded", "", 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", testworld.Initialize.Path, strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.media)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.status {
				t.Errorf("%d, want %d", w.Code, test.status)
			}
			testworld.CheckHeaders(t, w)
		})
	}
	if got := u.Requests(); len(got) != 0 {
		t.Errorf("users was asked %v", got)
	}
}
