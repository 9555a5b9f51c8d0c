package auth

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/browser"
)

// site serves the pages on loopback under a host's name and answers with their origin.
func site(t *testing.T, host string, u *users, watch func(*http.Request)) (origin string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	origin = "http://" + net.JoinHostPort(host, port)
	g := testkit.Ground(t)
	pages := open(t, g, origin)
	u.serve(t, g)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watch(r)
		pages.ServeHTTP(w, r)
	})
	server.Start()
	t.Cleanup(server.Close)
	return origin
}

func quiet(*http.Request) {}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

func get[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// visit opens an address and answers with the status.
func visit(t *testing.T, ctx context.Context, address string) int64 {
	t.Helper()
	r, err := chromedp.RunResponse(ctx, chromedp.Navigate(address))
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// submit fills in fields by their ids, presses the first button and answers with the status.
func submit(t *testing.T, ctx context.Context, fields ...string) int64 {
	t.Helper()
	for i := 0; i < len(fields); i += 2 {
		do(t, ctx, chromedp.Clear(chromedp.ID(fields[i])), chromedp.SendKeys(chromedp.ID(fields[i]), fields[i+1]))
	}
	r, err := chromedp.RunResponse(ctx, chromedp.Click(chromedp.CSS("button")))
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

func heading(t *testing.T, ctx context.Context) string {
	t.Helper()
	return get(t, ctx, chromedp.Text(chromedp.CSS("h1")))
}

// The link of a mail, a password, done: in a browser, with scripts and without.
func TestSettingAPassword(t *testing.T) {
	t.Parallel()
	for name, disabled := range map[string]bool{"with scripts": false, "without scripts": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &users{}
			origin := site(t, "127.0.0.1", u, quiet)
			ctx := browser.Open(t, chromedp.Flag("accept-lang", "de-CH"))
			if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: disabled}); err != nil {
				t.Fatal(err)
			}
			// As if the window were in front: without focus, no element matches :focus.
			if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
				t.Fatal(err)
			}
			if status := visit(t, ctx, origin+initPath+"?"+mailed().Encode()); status != 200 || heading(t, ctx) != "Konto aktivieren" {
				t.Fatalf("%d %q", status, heading(t, ctx))
			}
			if code := get(t, ctx, chromedp.Value(chromedp.ID("code"))); code != "GUTERKXD" {
				t.Errorf("the code field has %q", code)
			}
			do(t, ctx, chromedp.WaitReady(chromedp.CSS("#password:focus")))
			if status := submit(t, ctx, "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor"); status != 400 {
				t.Errorf("different passwords: %d", status)
			}
			do(t, ctx, chromedp.WaitReady(chromedp.CSS("#confirmation:focus")))
			if status := submit(t, ctx, "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"); status != 200 || heading(t, ctx) != "Ihr Konto ist aktiv" {
				t.Fatalf("%d %q", status, heading(t, ctx))
			}
			if login := get(t, ctx, chromedp.Text(chromedp.CSS(".name"))); login != "ada@example.com" {
				t.Errorf("login name %q", login)
			}
			asked := u.requests()
			last, _ := asked[len(asked)-1].(*usersv1.CompleteCodeRequest)
			if len(asked) != 2 || last.GetPassword() != "Tr0ub4dor3" || last.GetCode() != "GUTERKXD" {
				t.Errorf("users was asked %v", asked)
			}
		})
	}
}

// Over plain HTTP and not on loopback a browser sends no Sec-Fetch-Site: the origin of
// the page is then all that speaks for a form.
func TestPlainHTTP(t *testing.T) {
	t.Parallel()
	u, posted := &users{}, make(chan http.Header, 1)
	origin := site(t, "login.example", u, func(r *http.Request) {
		if r.Method == "POST" {
			posted <- r.Header
		}
	})
	ctx := browser.Open(t, chromedp.Flag("host-resolver-rules", "MAP login.example 127.0.0.1"))
	visit(t, ctx, origin+initPath+"?"+mailed().Encode())
	if status := submit(t, ctx, "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"); status != 200 {
		t.Errorf("%d %q", status, heading(t, ctx))
	}
	if h := <-posted; h.Get("Sec-Fetch-Site") != "" || h.Get("Origin") != origin {
		t.Errorf("Sec-Fetch-Site %q, Origin %q", h.Get("Sec-Fetch-Site"), h.Get("Origin"))
	}
}

// states leads a browser to every page.
var states = []struct {
	name  string
	query url.Values
	fill  []string // nil: only opened
	page  string   // whose title is the heading
}{
	{"form", mailed(), nil, "init.form"},
	{"form-confirm", mailed("passwordset", "true"), nil, "init.confirm"},
	{"form-empty", mailed("code", ""), nil, "init.form"},
	{"form-wrong-code", mailed(), []string{"code", "wrong222", "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}, "init.form"},
	{"form-wrong-password", mailed(), []string{"password", "short", "confirmation", "short"}, "init.form"},
	{"form-mismatch", mailed(), []string{"password", "Tr0ub4dor3", "confirmation", "x"}, "init.form"},
	{"expired", mailed("code", "EXPIRED2"), nil, "expired"},
	{"resent", mailed("code", "EXPIRED2"), []string{}, "init.resent"},
	{"locked", mailed("code", "LOCKED22"), []string{"password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}, "locked"},
	{"done", mailed(), []string{"password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}, "init.done"},
	{"away", mailed("code", "AWAY2222"), nil, "away"},
	{"malformed", mailed("userID", ""), nil, "malformed"},
}

func pageTexts(t *testing.T, language string) (texts map[string]string) {
	t.Helper()
	data, err := os.ReadFile("internal/look/texts/" + language + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &texts); err != nil {
		t.Fatal(err)
	}
	return texts
}

// Every page in every light and width: styled, and nothing wider than the screen. The
// pictures are among the test's artifacts: go test -artifacts -outputdir DIR.
func TestLooks(t *testing.T) {
	t.Parallel()
	u := &users{loginName: strings.Repeat("augusta.ada.king.", 6) + "@example.com"}
	origin := site(t, "127.0.0.1", u, quiet)
	for _, view := range []struct {
		language, scheme, background string
		width, height                int64
	}{
		{"en", "light", "rgb(242, 243, 246)", 1280, 900},
		{"ja", "dark", "rgb(21, 23, 28)", 1280, 900},
		{"fr", "light", "rgb(255, 255, 255)", 360, 740},
		{"de", "dark", "rgb(34, 37, 45)", 320, 640},
	} {
		t.Run(fmt.Sprint(view.language, " ", view.scheme, " ", view.width), func(t *testing.T) {
			t.Parallel()
			texts := pageTexts(t, view.language)
			ctx := browser.Open(t, chromedp.Flag("accept-lang", view.language))
			features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.scheme}}
			if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
				t.Fatal(err)
			}
			do(t, ctx, chromedp.EmulateViewport(view.width, view.height))
			for _, state := range states {
				visit(t, ctx, origin+initPath+"?"+state.query.Encode())
				if state.fill != nil {
					submit(t, ctx, state.fill...)
				}
				if got := heading(t, ctx); got != texts[state.page+".title"] {
					t.Errorf("%s: %q", state.name, got)
				}
				if got := get(t, ctx, chromedp.Evaluate[string]("getComputedStyle(document.body).backgroundColor")); got != view.background {
					t.Errorf("%s has the background %s", state.name, got)
				}
				if wide := get(t, ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")); wide > view.width {
					t.Errorf("%s is %d wide", state.name, wide)
				}
				picture := get(t, ctx, chromedp.FullScreenshot(100))
				if err := os.WriteFile(filepath.Join(t.ArtifactDir(), state.name+".png"), picture, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
