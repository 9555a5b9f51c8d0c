package auth_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// site serves the pages on loopback under a host name and returns their origin.
func site(t *testing.T, host string, u *testworld.Users, watch func(*http.Request)) (origin string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	origin = "http://" + net.JoinHostPort(host, port)
	g := testkit.Ground(t)
	pages := testworld.Open(t, g, origin)
	testworld.ServeUsers(t, g, u)
	testworld.ServeText(t, g)
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

// visit opens an address and returns the status.
func visit(t *testing.T, ctx context.Context, address string) int64 {
	t.Helper()
	r, err := chromedp.RunResponse(ctx, chromedp.Navigate(address))
	if err != nil {
		t.Fatal(err)
	}
	return r.Status
}

// submit fills in fields by their ids, presses the first button and returns the status.
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

// People open the link of a mail and fill in its form in a browser, with JavaScript and without.
func TestFormsOfMailsInABrowser(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		testworld.Journey
		name     string
		disabled bool
	}{
		{testworld.Journeys[0], "without scripts", true}, {testworld.Journeys[0], "with scripts", false},
		{testworld.Journeys[1], "with scripts", false}, {testworld.Journeys[2], "with scripts", false},
	} {
		t.Run(test.Kind+" "+test.name, func(t *testing.T) {
			t.Parallel()
			u, texts := &testworld.Users{}, testworld.PageTexts(t, "de")
			origin := site(t, "127.0.0.1", u, quiet)
			ctx := outside.OpenBrowser(t, "accept-lang=de-CH")
			if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled,
				emulation.SetScriptExecutionDisabledParams{Value: test.disabled}); err != nil {
				t.Fatal(err)
			}
			if status := visit(t, ctx, origin+test.Link("lang", "de")); status != 200 ||
				heading(t, ctx) != texts[test.Form+".title"] {
				t.Fatalf("%d %q", status, heading(t, ctx))
			}
			if code := get(t, ctx, chromedp.Value(chromedp.ID("code"))); code != "GUTERKXD" {
				t.Errorf("the code field has %q", code)
			}
			fields, password := wrongThenRight(t, ctx, test.Journey)
			if status := submit(t, ctx, fields...); status != 200 || heading(t, ctx) != texts[test.Kind+".done.title"] {
				t.Fatalf("%d %q", status, heading(t, ctx))
			}
			if login := get(t, ctx, chromedp.Text(chromedp.CSS(".name"))); login != "ada@example.com" {
				t.Errorf("login name %q", login)
			}
			asked := u.Requests()
			last, _ := asked[len(asked)-1].(*usersv1.CompleteCodeRequest)
			if last.GetKind() != test.Kind || last.GetPassword() != password || last.GetCode() != "GUTERKXD" {
				t.Errorf("users was asked %v", asked)
			}
		})
	}
}

// wrongThenRight posts a form with a mistake, checks that the wrong field has the focus, and
// returns the right values.
func wrongThenRight(t *testing.T, ctx context.Context, j testworld.Journey) (fields []string, password string) {
	t.Helper()
	if !j.Password {
		if status := submit(t, ctx, "code", "wrong222"); status != 400 {
			t.Errorf("wrong code: %d", status)
		}
		do(t, ctx, chromedp.WaitReady(chromedp.CSS("#code:focus")))
		return []string{"code", "guter-kxd"}, ""
	}
	do(t, ctx, chromedp.WaitReady(chromedp.CSS("#password:focus")))
	if status := submit(t, ctx, "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor"); status != 400 {
		t.Errorf("different passwords: %d", status)
	}
	do(t, ctx, chromedp.WaitReady(chromedp.CSS("#confirmation:focus")))
	return []string{"password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}, "Tr0ub4dor3"
}

// After mistakes in the form a page still says whose account it is.
func TestFormNamesItsUserAfterMistakes(t *testing.T) {
	t.Parallel()
	origin := site(t, "127.0.0.1", &testworld.Users{}, quiet)
	ctx := outside.OpenBrowser(t)
	visit(t, ctx, origin+testworld.Initialize.Link("code", "NAMED222"))
	whose := get(t, ctx, chromedp.Text(chromedp.CSS(".whose")))
	if !strings.Contains(whose, "Analytical & Co") || !strings.Contains(whose, "ada <b>") {
		t.Fatalf("the page names %q", whose)
	}
	for _, typed := range [][2]string{{"Tr0ub4dor3", "Tr0ub4dor"}, {"short", "short"}} {
		status := submit(t, ctx, "password", typed[0], "confirmation", typed[1])
		if again := get(t, ctx, chromedp.Text(chromedp.CSS(".whose"))); status != 400 || again != whose {
			t.Errorf("after %q and %q: %d, the page names %q", typed[0], typed[1], status, again)
		}
	}
	if status := submit(t, ctx, "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"); status != 200 {
		t.Errorf("%d %q", status, heading(t, ctx))
	}
}

// Over plain HTTP, outside loopback, a browser sends no Sec-Fetch-Site. The header Origin alone
// then shows that a form is ours.
func TestFormsWorkOverPlainHTTP(t *testing.T) {
	t.Parallel()
	u, posted := &testworld.Users{}, make(chan http.Header, 1)
	origin := site(t, "login.example", u, func(r *http.Request) {
		if r.Method == "POST" {
			posted <- r.Header
		}
	})
	ctx := outside.OpenBrowser(t, "host-resolver-rules=MAP login.example 127.0.0.1")
	visit(t, ctx, origin+testworld.Initialize.Link())
	if status := submit(t, ctx, "password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"); status != 200 {
		t.Errorf("%d %q", status, heading(t, ctx))
	}
	if h := <-posted; h.Get("Sec-Fetch-Site") != "" || h.Get("Origin") != origin {
		t.Errorf("Sec-Fetch-Site %q, Origin %q", h.Get("Sec-Fetch-Site"), h.Get("Origin"))
	}
}

// state is a page with the steps that lead to it.
type state struct {
	name string
	link string
	fill []string // nil: only opened
	page string   // whose title is the heading
}

// states returns all pages. Pages that are the same for every kind of mail are in it once.
func states() (all []state) {
	password := []string{"password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}
	for _, j := range testworld.Journeys {
		fill := []string{}
		if j.Password {
			fill = password
		}
		all = append(all,
			state{j.Kind + "-form", j.Link(), nil, j.Form},
			state{j.Kind + "-resent", j.Link("code", "EXPIRED2"), []string{}, j.Kind + ".resent"},
			state{j.Kind + "-done", j.Link(), fill, j.Kind + ".done"})
	}
	return append(all,
		state{"form-named", testworld.Initialize.Link("code", "NAMED222"), nil, "init.form"},
		state{"init-confirm", testworld.Initialize.Link("passwordset", "true"), nil, "init.confirm"},
		state{"form-wrong-code", testworld.Initialize.Link(), append([]string{"code", "wrong222"}, password...),
			"init.form"},
		state{"link-used", testworld.Initialize.Link("code", "WRONG222"), nil, "linkgone"},
		state{"form-empty", testworld.Initialize.Link("code", ""), nil, "init.form"},
		state{"form-wrong-password", testworld.Initialize.Link(), []string{"password", "short", "confirmation",
			"short"},
			"init.form"},
		state{"form-mismatch", testworld.Initialize.Link(), []string{"password", "Tr0ub4dor3", "confirmation", "x"},
			"init.form"},
		state{"expired", testworld.Initialize.Link("code", "EXPIRED2"), nil, "expired"},
		state{"locked", testworld.Initialize.Link(), append([]string{"code", "LOCKED22"}, password...), "locked"},
		state{"away", testworld.Initialize.Link("code", "AWAY2222"), nil, "away"},
		state{"malformed", testworld.Initialize.Link("userID", ""), nil, "malformed"},
		state{"login", "/ui/login/?a=b", nil, "login"},
		state{"login-wrong", "/ui/login/?a=b", []string{"name", "ada", "current", "wrong"}, "login"},
		state{"login-locked", "/ui/login/?a=b", []string{"name", "ada", "current", "locked"}, "loginlocked"},
		state{"login-initial", "/ui/login/?a=b", []string{"name", "ada", "current", "initial"}, "initial"},
		state{"login-inactive", "/ui/login/?a=b", []string{"name", "ada", "current", "inactive"}, "inactive"},
		state{"login-factor", "/ui/login/?a=b", []string{"name", "ada", "current", "factor"}, "factor"},
		state{"login-next", "/ui/login/?a=b", []string{"name", "ada", "current", "next"}, "newpassword"},
		state{"login-session", "/ui/login/?a=b", []string{"name", "ada", "current", "right"}, "session"},
		state{"login-signedout", "/ui/login/signedout?a=b", nil, "signedout"},
		state{"account", "/ui/account?done=true", nil, "account"},
		state{"account-profile", "/ui/account/profile?a=b", nil, "profile"},
		state{"account-profile-wrong", "/ui/account/profile?a=b", []string{"firstName", " "},
			"profile"},
		state{"account-password", "/ui/account/password?a=b", nil, "changepassword"},
		state{"account-email", "/ui/account/email?resent=true", nil, "email"},
		state{"account-email-wrong", "/ui/account/email?a=b", []string{"code", "WRONG222"}, "email"},
		state{"account-email-change", "/ui/account/email/change?a=b", nil, "changeemail"},
		state{"account-otp", "/ui/account/otp?a=b", nil, "otp"},
		state{"account-token", "/ui/account/tokens/new?a=b", []string{}, "tokenmade"},
		state{"account-tokens", "/ui/account/tokens?done=true", nil, "tokens"},
		state{"account-token-end", "/ui/account/tokens/end?id=t1", nil, "tokenend"},
		state{"account-links", "/ui/account/idplinks?a=b", nil, "idplinks"},
		state{"account-access", "/ui/account/access?a=b", nil, "access"},
		state{"account-sessions", "/ui/account/sessions?a=b", nil, "sessions"},
		state{"account-others", "/ui/account/sessions/others?a=b", nil, "sessionsend"},
		state{"account-gone", "/ui/account/sessions/end?id=x", nil, "accountgone"})
}

// Every page, light and dark and in several widths, has its style and is no wider than the screen.
// To keep the screenshots: go test -artifacts -outputdir DIR.
func TestPagesFitTheScreen(t *testing.T) {
	t.Parallel()
	u := &testworld.Users{LoginName: strings.Repeat("augusta.ada.king.", 6) + "@example.com",
		Own: testworld.Own{Profile: &usersv1.Profile{
			FirstName: "Ada", LastName: "Lovelace", DisplayName: "Ada Lovelace",
			NickName: strings.Repeat("augusta.", 12),
		}}}
	origin := site(t, "127.0.0.1", u, quiet)
	for _, view := range []struct {
		language, scheme, background string
		width, height                int64
	}{
		{"en", "light", "rgb(242, 243, 246)", 1280, 900},
		{"ja", "dark", "rgb(21, 23, 28)", 1280, 900},
		{"ru", "light", "rgb(255, 255, 255)", 360, 740},
		{"tr", "dark", "rgb(34, 37, 45)", 320, 640}, // the longest words
	} {
		t.Run(fmt.Sprint(view.language, " ", view.scheme, " ", view.width), func(t *testing.T) {
			t.Parallel()
			texts := testworld.PageTexts(t, view.language)
			ctx := outside.OpenBrowser(t, "accept-lang="+view.language)
			features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: view.scheme}}
			if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia,
				emulation.SetEmulatedMediaParams{Features: features}); err != nil {
				t.Fatal(err)
			}
			do(t, ctx, chromedp.EmulateViewport(view.width, view.height))
			for _, state := range states() {
				visit(t, ctx, origin+state.link+"&lang="+view.language)
				if state.fill != nil {
					submit(t, ctx, state.fill...)
				}
				if got := heading(t, ctx); got != texts[state.page+".title"] {
					t.Errorf("%s: %q", state.name, got)
				}
				if got := get(t, ctx, chromedp.Evaluate[string](
					"getComputedStyle(document.body).backgroundColor")); got != view.background {
					t.Errorf("%s has the background %s", state.name, got)
				}
				if wide := get(t, ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")); wide >
					view.width {
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
