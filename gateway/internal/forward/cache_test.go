package forward

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"herald/shared/testkit"
)

func cacheWithClock() (c *cache, advance func(time.Duration)) {
	clock := testkit.ClockAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return newCache(clock.Now, func() uint64 { return 0 }), clock.Advance
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func TestOnlyPublicAnswersAreCached(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("x", maxBody)
	for _, c := range []struct {
		header http.Header
		body   string
		kept   time.Duration // 0 if not at all
	}{
		{header("Cache-Control", "public, max-age=300"), "a", 300 * time.Second},
		{header("Cache-Control", "max-age=300,PUBLIC"), "a", 300 * time.Second},
		{header("Cache-Control", "public", "Cache-Control", "max-age=1"), "a", time.Second},
		{header("Cache-Control", "public, max-age=2147483647"), body, 2147483647 * time.Second},
		{header("Cache-Control", "public, max-age=300"), body + "x", 0},
		{header(), "a", 0},
		{header("Cache-Control", ""), "a", 0},
		{header("Cache-Control", "public"), "a", 0},
		{header("Cache-Control", "max-age=300"), "a", 0},
		{header("Cache-Control", "public, max-age=0"), "a", 0},
		{header("Cache-Control", "public, max-age=-1"), "a", 0},
		{header("Cache-Control", "public, max-age=2147483648"), "a", 0},
		{header("Cache-Control", "public, max-age="), "a", 0},
		{header("Cache-Control", "public, max-age"), "a", 0},
		{header("Cache-Control", "public, max-age=1, max-age=300"), "a", 0},
		{header("Cache-Control", "public, max-age=300, s-maxage=0"), "a", 0},
		{header("Cache-Control", "public, max-age=300, no-store"), "a", 0},
		{header("Cache-Control", "public, max-age=300", "Cache-Control", "private"), "a", 0},
		{header("Cache-Control", `public="x", max-age=300`), "a", 0},
		{header("Cache-Control", "no-store"), "a", 0},
		{header("Cache-Control", "public, max-age=300", "Vary", "Accept"), "a", 0},
		{header("Cache-Control", "public, max-age=300", "Set-Cookie", "a=b"), "a", 0},
	} {
		cache, advance := cacheWithClock()
		a := cache.keep("/a", cache.moment(), c.header, []byte(c.body))
		if (a != nil) != (c.kept > 0) || cache.find("/a") != a {
			t.Errorf("%v with %d bytes: kept %v", c.header, len(c.body), a != nil)
		}
		if c.kept == 0 {
			continue
		}
		if advance(c.kept - 1); cache.find("/a") != a {
			t.Errorf("%v is not kept for %v", c.header, c.kept)
		}
		if advance(1); cache.find("/a") != nil {
			t.Errorf("%v is kept longer than %v", c.header, c.kept)
		}
	}
}

// The age counts from the request, so that a slow answer is not kept longer.
func TestAgeOfCachedAnswerCountsFromTheRequest(t *testing.T) {
	t.Parallel()
	cache, advance := cacheWithClock()
	asked := cache.moment()
	advance(7 * time.Second)
	cache.keep("/a", asked, header("Cache-Control", "public, max-age=10"), nil)
	advance(2*time.Second + time.Second/2)
	w := httptest.NewRecorder()
	cache.find("/a").serve(w, httptest.NewRequest("GET", "/a", nil))
	if w.Header().Get("Age") != "9" {
		t.Error(w.Header())
	}
	if advance(time.Second / 2); cache.find("/a") != nil {
		t.Error("kept")
	}
}

func TestCachedAnswerIsFoundByPathAndQuery(t *testing.T) {
	t.Parallel()
	cache, _ := cacheWithClock()
	fresh := header("Cache-Control", "public, max-age=10")
	for _, uri := range []string{"/a", "/a?x=1", "/b"} {
		if cache.find(uri) != nil {
			t.Errorf("%s was never kept", uri)
		}
		cache.keep(uri, cache.moment(), fresh, []byte(uri))
	}
	if a := cache.find("/a?x=1"); string(a.body) != "/a?x=1" {
		t.Errorf("got %s", a.body)
	}
	if cache.keep("/"+strings.Repeat("x", maxURI), cache.moment(), fresh, nil) != nil {
		t.Error("a long address was kept")
	}
}

// Addresses that were asked for once cannot displace one that is asked for all the time.
func TestCacheDropsTheAnswerThatIsUnusedForLongest(t *testing.T) {
	t.Parallel()
	cache, advance := cacheWithClock()
	fresh := header("Cache-Control", "public, max-age=3600")
	cache.keep("/keys", cache.moment(), fresh, nil)
	for i := range 3 * maxAnswers {
		advance(time.Millisecond)
		cache.keep(fmt.Sprint("/keys?", i), cache.moment(), fresh, nil)
		if advance(time.Millisecond); cache.find("/keys") == nil {
			t.Fatalf("displaced by the %d. of others", i)
		}
	}
	if len(cache.answers) != maxAnswers {
		t.Errorf("%d answers", len(cache.answers))
	}
	last := fmt.Sprint("/keys?", 3*maxAnswers-1)
	if cache.keep(last, cache.moment(), fresh, nil); len(cache.answers) != maxAnswers || cache.find("/keys") == nil {
		t.Error("a newer answer displaced another address")
	}
}

func TestServe(t *testing.T) {
	t.Parallel()
	cache, _ := cacheWithClock()
	own := header("Cache-Control", "public, max-age=10", "Content-Type", "text/plain", "Etag", `"v1"`)
	made := header("Cache-Control", "public, max-age=10", "Content-Type", "text/plain")
	cache.keep("/own", cache.moment(), own, []byte("body"))
	cache.keep("/made", cache.moment(), made, []byte("body"))
	if own.Get("Content-Length") != "" || made.Get("Etag") != "" {
		t.Error("the service's headers were changed")
	}
	tag := cache.find("/made").tag
	for _, c := range []struct {
		method, uri, known string
		status             int
	}{
		{"GET", "/own", "", 200}, {"HEAD", "/own", "", 200}, {"GET", "/own", `"v0"`, 200},
		{"GET", "/own", `"v1"`, 304}, {"HEAD", "/own", `"v1"`, 304}, {"GET", "/own", `"v0", W/"v1"`, 304},
		{"GET", "/own", "*", 304}, {"GET", "/made", "", 200}, {"GET", "/made", tag, 304}, {"GET", "/made", `"v1"`, 200},
	} {
		r, w := httptest.NewRequest(c.method, c.uri, nil), httptest.NewRecorder()
		if c.known != "" {
			r.Header.Set("If-None-Match", c.known)
		}
		w.Header().Set("Cache-Control", "no-store")
		cache.find(c.uri).serve(w, r)
		h, body, length, kind := w.Header(), "", "", ""
		if c.status == 200 {
			length, kind = "4", "text/plain"
			if c.method == "GET" {
				body = "body"
			}
		}
		if w.Code != c.status || w.Body.String() != body || h.Get("Content-Length") != length ||
			h.Get("Content-Type") != kind || h.Get("Cache-Control") != "public, max-age=10" || h.Get("Age") != "0" ||
			h.Get("Etag") == "" {
			t.Errorf("%s %s with %s: %d %v %s", c.method, c.uri, c.known, w.Code, h, w.Body)
		}
	}
}
