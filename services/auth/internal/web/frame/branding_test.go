package frame

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"herald/shared/fault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

// brander stands in for the service text.
type brander struct {
	textv1.TextClient
	asked    atomic.Int64
	mu       sync.Mutex
	branding map[string]*textv1.ResolveBrandingResponse
	away     bool
}

func (b *brander) ResolveBranding(
	_ context.Context, r *textv1.ResolveBrandingRequest, _ ...grpc.CallOption,
) (*textv1.ResolveBrandingResponse, error) {
	b.asked.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return nil, fault.ErrUnavailable
	}
	return cmp.Or(b.branding[r.OrgId], &textv1.ResolveBrandingResponse{}), nil
}

func (b *brander) ResolveLanguages(
	context.Context, *textv1.ResolveLanguagesRequest, ...grpc.CallOption,
) (*textv1.ResolveLanguagesResponse, error) {
	return nil, fault.ErrUnavailable
}

func (b *brander) ResolveLogo(
	_ context.Context, r *textv1.ResolveLogoRequest, _ ...grpc.CallOption,
) (*textv1.ResolveLogoResponse, error) {
	switch r.OrgId {
	case "o1":
		return &textv1.ResolveLogoResponse{Logo: []byte("image of " + r.Hash), MediaType: "image/webp"}, nil
	case "away":
		return nil, fault.ErrUnavailable
	}
	return nil, fault.New(fault.NotFound, "LOGO_NOT_FOUND", "")
}

func (b *brander) set(orgID, color, logo string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.branding[orgID] = &textv1.ResolveBrandingResponse{PrimaryColor: color, LogoPath: logo}
}

// pagesOf returns pages and logos as a browser gets them: the page of an organization is at its id.
func pagesOf(t *testing.T, b *brander, c *testkit.Clock) http.Handler {
	t.Helper()
	l, err := New(b, c.Now, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	l.Mount(mux)
	mux.HandleFunc("GET /of/{org}", func(w http.ResponseWriter, r *http.Request) {
		l.Notice(w, Branded(r, r.PathValue("org")), http.StatusOK, "unknown", "")
	})
	mux.HandleFunc("GET /trouble/{org}", func(w http.ResponseWriter, r *http.Request) {
		l.Notice(w, Branded(r, r.PathValue("org")), http.StatusForbidden, "inactive", "")
	})
	mux.HandleFunc("GET /of/{$}", func(w http.ResponseWriter, r *http.Request) {
		l.Notice(w, Branded(r, ""), http.StatusOK, "unknown", "")
	})
	guarded, err := l.Guard(mux, &url.URL{Scheme: "https", Host: "login.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	return guarded
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

var styles = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// A page that says what does not work names the organization's address for help. Other pages do not, and neither do
// those of an organization without one.
func TestPagesOfTroubleNameTheAddressForHelp(t *testing.T) {
	t.Parallel()
	b := &brander{branding: map[string]*textv1.ResolveBrandingResponse{
		"o1": {SupportEmail: `help+"<b>@example.com`}, "o2": {},
	}}
	h := pagesOf(t, b, &testkit.Clock{})
	for path, want := range map[string]int{"/trouble/o1": 1, "/trouble/o2": 0, "/of/o1": 0} {
		body := get(h, path).Body.String()
		if got := strings.Count(body, `<bdi>help&#43;&#34;&lt;b&gt;@example.com</bdi>`); got != want {
			t.Errorf("%s names the address %d times, want %d: %s", path, got, want, body)
		}
	}
}

// A page has the color and logo of its organization, and its policy allows its styles and nothing more.
func TestPagesHaveTheBrandingOfTheirOrganization(t *testing.T) {
	t.Parallel()
	b := &brander{branding: map[string]*textv1.ResolveBrandingResponse{}}
	b.set("o1", "#ffcc00", "/ui/logo/o1/abc")
	b.set("color", "#000080", "")
	b.set("logo", "", "/ui/logo/logo/abc")
	b.set("none", "", "")
	b.set("broken", "#00aaff;}body{display:none", "")
	h := pagesOf(t, b, &testkit.Clock{})
	for org, want := range map[string]struct{ color, text, logo string }{
		"o1": {"#ffcc00", "#000000", "/ui/logo/o1/abc"}, "color": {"#000080", "#ffffff", ""},
		"logo": {"", "", "/ui/logo/logo/abc"}, "none": {}, "broken": {}, "": {},
	} {
		t.Run(org, func(t *testing.T) {
			w := get(h, "/of/"+org)
			page, policy := w.Body.String(), w.Header().Get("Content-Security-Policy")
			found := styles.FindAllStringSubmatch(page, -1)
			allowed := "style-src"
			for i := len(found) - 1; i >= 0; i-- {
				allowed += " " + sourceOf(found[i][1])
			}
			if want := "default-src 'none'; " + allowed + "; img-src 'self' data:; form-action 'self'; " +
				"frame-ancestors 'none'; base-uri 'none'"; policy != want {
				t.Errorf("the policy is\n%s, want\n%s", policy, want)
			}
			if branded := len(found) == 2; branded != (want.color != "") || branded &&
				!strings.HasPrefix(found[1][1], ":root{--fill:"+want.color+";--on-accent:"+want.text+";") {
				t.Errorf("the styles are %q", found[1:])
			}
			if strings.Contains(page, `<img class="logo" src="`+want.logo+`" alt="">`) != (want.logo != "") ||
				strings.Contains(page, "<img") != (want.logo != "") || strings.Contains(page, "display:none") {
				t.Errorf("the page is %s", page)
			}
		})
	}
}

// Text is asked once a second for each organization, and while it is away the last branding stays.
func TestBrandingIsRequestedOnceASecondAndKeptDuringAnOutage(t *testing.T) {
	t.Parallel()
	var c testkit.Clock
	c.Stop()
	b := &brander{branding: map[string]*textv1.ResolveBrandingResponse{}}
	h := pagesOf(t, b, &c)
	shows := func(org, color string) {
		t.Helper()
		if page := get(h, "/of/"+org).Body.String(); strings.Contains(page, "--fill:"+color+";") != (color != "") ||
			color == "" && len(styles.FindAllString(page, -1)) != 1 {
			t.Errorf("%s does not have the color %q", org, color)
		}
	}
	b.away = true
	shows("o1", "") // before text answered for the first time
	b.away = false
	b.set("o1", "#00aaff", "")
	b.set("o2", "#ffaa00", "")
	shows("o1", "")
	c.Advance(time.Second)
	before := b.asked.Load()
	var readers sync.WaitGroup
	for range 20 {
		readers.Go(func() { shows("o1", "#00aaff") })
	}
	readers.Wait()
	shows("o2", "#ffaa00")
	if asked := b.asked.Load() - before; asked != 2 {
		t.Errorf("text was asked %d times for two organizations", asked)
	}
	b.set("o1", "#aa00ff", "")
	shows("o1", "#00aaff")
	c.Advance(time.Second)
	shows("o1", "#aa00ff")
	b.away = true
	c.Advance(time.Minute)
	shows("o1", "#aa00ff")
	shows("o3", "")
}

// However many organizations have pages during an outage of text, the log says it once.
func TestOutageOfTextIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var said testkit.Lines
	log := slog.New(slog.NewTextHandler(&said, nil))
	b := brandings{source: newSource(&brander{away: true}, new(testkit.Clock).Now, log)}
	for i := range 10 {
		b.of(t.Context(), strconv.Itoa(i))
	}
	if n := strings.Count(said.String(), "level=WARN"); n != 1 {
		t.Errorf("the log has %d lines: %s", n, said.String())
	}
}

// However many organizations there are, the memory for their brandings is bounded.
func TestMemoryForBrandingsIsBounded(t *testing.T) {
	t.Parallel()
	text := &brander{branding: map[string]*textv1.ResolveBrandingResponse{}}
	b := brandings{source: newSource(text, new(testkit.Clock).Now, slog.Default())}
	for i := range 2*maxBrandings + 1 {
		b.of(t.Context(), strconv.Itoa(i))
		if len(b.kept) > maxBrandings {
			t.Fatalf("%d are kept", len(b.kept))
		}
	}
	if len(b.kept) != 1 {
		t.Errorf("%d are kept", len(b.kept))
	}
}

// A logo is an image that browsers keep, and that can do nothing when it is opened by itself.
func TestLogosAreImagesThatBrowsersKeep(t *testing.T) {
	t.Parallel()
	h := pagesOf(t, &brander{}, &testkit.Clock{})
	w := get(h, "/ui/logo/o1/abc")
	if w.Code != http.StatusOK || w.Body.String() != "image of abc" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/webp", "Cache-Control": "public, max-age=31536000, immutable",
		"X-Content-Type-Options":  "nosniff",
		"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for path, want := range map[string]int{
		"/ui/logo/o2/abc": 404, "/ui/logo/away/abc": 503, "/ui/logo/o1/" + strings.Repeat("a", 65): 404,
		"/ui/logo/" + strings.Repeat("o", 201) + "/abc": 404, "/ui/logo/o1": 404,
	} {
		if w := get(h, path); w.Code != want || strings.Contains(w.Header().Get("Cache-Control"), "max-age") {
			t.Errorf("%.40s: %d, %s", path, w.Code, w.Header().Get("Cache-Control"))
		}
	}
}
