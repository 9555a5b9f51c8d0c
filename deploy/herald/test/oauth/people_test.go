package oauth_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"herald/deploy/herald/test/whole"
)

// site is a web application of an independent client library. It has the pages /login, /logout and /heard, which
// answers when the application has heard of the logout.
type site struct{ Library, Issuer, ClientID, Secret, Origin string }

// site registers an application that listens at an address.
func (w world) site(library, origin string) site {
	w.TB.Helper()
	project := w.Must("POST", "/management/v1/projects", `{"name":"`+library+`"}`)["id"].(string)
	made := w.Must("POST", "/management/v1/projects/"+project+"/apps/oidc", strings.ReplaceAll(`{"name":"Shop",
		"redirectUris":["HOST/callback"],"postLogoutRedirectUris":["HOST/bye"],"backChannelLogoutUri":"HOST/ended",
		"grantTypes":["OIDC_GRANT_TYPE_AUTHORIZATION_CODE","OIDC_GRANT_TYPE_REFRESH_TOKEN"]}`, "HOST", origin))
	return site{library, w.URL, made["clientId"].(string), made["clientSecret"].(string), origin}
}

// node runs the application of a library for Node.js and returns its address.
func (w world) node(library string) string {
	w.TB.Helper()
	folder, origin := w.TB.TempDir(), nodeOrigin(w.TB)
	whole.NodeLibraries(w.TB, folder)
	w.runNode(folder, "people.mjs", w.site(library, origin))
	return origin
}

// nodeOrigin returns an address at which a program can listen.
func nodeOrigin(t testing.TB) string {
	t.Helper()
	return "http://" + strings.Replace(whole.FreeAddress(t), "127.0.0.1", "localhost", 1)
}

// runNode runs a program of the clients in a folder that has its libraries until the test ends. It returns when the
// program is ready.
func (w world) runNode(folder, program string, input any, environment ...string) {
	w.TB.Helper()
	script := filepath.Join(folder, filepath.Base(program))
	text := whole.File(w.TB, "deploy/herald/test/oauth/clients/"+program)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	given, err := json.Marshal(input)
	if err != nil {
		w.Fatal(err)
	}
	c := exec.Command("node", script)
	c.Dir, c.Stdin, c.Env = folder, bytes.NewReader(given), append(os.Environ(), environment...)
	w.runProgram(c, `^ready$`)
}

// runProgram runs a program until the test ends. It returns when a line of its output matches.
func (w world) runProgram(c *exec.Cmd, mark string) {
	w.TB.Helper()
	matches := regexp.MustCompile(mark)
	out, in, err := os.Pipe()
	if err != nil {
		w.Fatal(err)
	}
	c.Stdout, c.Stderr, c.SysProcAttr = in, in, &syscall.SysProcAttr{Setpgid: true}
	if err := errors.Join(c.Start(), in.Close()); err != nil {
		w.Fatal(err)
	}
	said, ready := &bytes.Buffer{}, make(chan bool, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			_, _ = said.Write(append(lines.Bytes(), '\n'))
			if matches.Match(lines.Bytes()) && len(ready) == 0 {
				ready <- true
			}
		}
	}()
	w.TB.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // and what it has started
		_ = c.Wait()
		<-read
		if w.TB.Failed() {
			w.TB.Logf("%s says: %s", c.Path, said)
		}
	})
	select {
	case <-ready:
	case <-read:
		w.Fatalf("%s ended", c.Path)
	case <-time.After(time.Minute):
		w.Fatalf("%s does not say %q", c.Path, mark)
	}
}

// golang is the application of coreos/go-oidc and golang.org/x/oauth2.
type golang struct {
	testing.TB
	oauth    oauth2.Config
	provider *oidc.Provider
	verifier *oidc.IDTokenVerifier
	pkce     string
	idToken  string
	session  string
	ended    chan *oidc.LogoutToken
}

// golang runs it and returns its address.
func (w world) golang() string {
	w.TB.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	w.TB.Cleanup(server.Close)
	s := w.site("go-oidc", server.URL)
	provider, err := oidc.NewProvider(w.Context(), s.Issuer)
	if err != nil {
		w.Fatal(err)
	}
	g := &golang{TB: w.TB, provider: provider, verifier: provider.Verifier(&oidc.Config{ClientID: s.ClientID}),
		pkce: oauth2.GenerateVerifier(), ended: make(chan *oidc.LogoutToken, 1), oauth: oauth2.Config{
			ClientID: s.ClientID, ClientSecret: s.Secret, RedirectURL: s.Origin + "/callback",
			Endpoint: provider.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "profile", oidc.ScopeOfflineAccess},
		}}
	mux.HandleFunc("GET /login", func(out http.ResponseWriter, r *http.Request) {
		http.Redirect(out, r, g.oauth.AuthCodeURL("s", oidc.Nonce("n"), oauth2.S256ChallengeOption(g.pkce)),
			http.StatusSeeOther)
	})
	mux.HandleFunc("GET /callback", g.callback)
	mux.HandleFunc("GET /logout", func(out http.ResponseWriter, r *http.Request) {
		http.Redirect(out, r, s.Issuer+"/oidc/v1/end_session?id_token_hint="+g.idToken+
			"&post_logout_redirect_uri="+s.Origin+"/bye&state=s", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /bye", func(out http.ResponseWriter, r *http.Request) { show(out, "Bye", "?"+r.URL.RawQuery) })
	mux.HandleFunc("POST /ended", func(_ http.ResponseWriter, r *http.Request) {
		read, err := g.verifier.VerifyLogout(r.Context(), r.PostFormValue("logout_token"))
		if err != nil {
			g.Error(err)
		}
		g.ended <- read
	})
	mux.HandleFunc("GET /heard", func(out http.ResponseWriter, r *http.Request) {
		select {
		case read := <-g.ended:
			show(out, "Heard", fmt.Sprintf("%s, %t", read.Subject, read.SessionID == g.session))
		case <-r.Context().Done():
		}
	})
	return s.Origin
}

// callback exchanges the code, checks the id token, reads userinfo, and does that with a refreshed token again.
func (g *golang) callback(out http.ResponseWriter, r *http.Request) {
	ctx, q := r.Context(), r.URL.Query()
	tokens, err := g.oauth.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(g.pkce))
	if err != nil || q.Get("state") != "s" {
		g.Errorf("%v: %v", q, err)
		return
	}
	g.idToken = tokens.Extra("id_token").(string)
	checked, err := g.verifier.Verify(ctx, g.idToken)
	if err != nil || checked.Nonce != "n" || checked.VerifyAccessToken(tokens.AccessToken) != nil {
		g.Errorf("%v", err)
		return
	}
	var claims struct {
		Sid, Name string
		AMR       []string
	}
	if err := checked.Claims(&claims); err != nil {
		g.Error(err)
	}
	g.session = claims.Sid
	next, err := g.oauth.TokenSource(ctx, &oauth2.Token{RefreshToken: tokens.RefreshToken}).Token()
	if err != nil || next.AccessToken == tokens.AccessToken || next.RefreshToken == tokens.RefreshToken {
		g.Errorf("%v", err)
		return
	}
	info, err := g.provider.UserInfo(ctx, oauth2.StaticTokenSource(next))
	if err == nil {
		err = info.Claims(&claims)
	}
	if err != nil {
		g.Error(err)
	}
	show(out, "Welcome", claims.Name+", "+strings.Join(claims.AMR, " "))
}

func show(out http.ResponseWriter, heading, text string) {
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(out, "<!DOCTYPE html><title>App</title><h1>%s</h1><p>%s</p>", heading, html.EscapeString(text))
}

// People log in with a password and an authenticator app to applications of independent client libraries, which refresh
// their tokens, log the people out, and hear of it by their back channel.
func TestIndependentApplications(t *testing.T) {
	t.Parallel()
	w := start(t, nearby)
	for name, origin := range map[string]func() string{
		"openid-client": func() string { return w.node("openid-client") },
		"oauth4webapi":  func() string { return w.node("oauth4webapi") }, "go-oidc": w.golang,
	} {
		t.Run(name, func(t *testing.T) {
			userID := "user-of-" + name
			w.Must("POST", "/management/v1/users/human/_import", person(userID, `,"otpCode":"`+otpSecret+`"`))
			at, c := origin(), open(t)
			if got := c.visit(at + "/login"); got != "Sign in" {
				t.Fatalf("the application leads to %q", got)
			}
			if got := c.submit("name", userID, "current", "correct horse"); got != "One more step" {
				t.Fatalf("the password leads to %q", got)
			}
			if got := c.submit("code", shown(t, 0)); got != "Welcome" || c.read("p") != "Ada Lovelace, pwd otp mfa" {
				t.Fatalf("the code leads to %q: %s", got, c.read("body"))
			}
			if got := c.visit(at + "/logout"); got != "Bye" || c.read("p") != "?state=s" {
				t.Errorf("the logout leads to %q: %s", got, c.read("body"))
			}
			if got := c.visit(at + "/heard"); got != "Heard" || c.read("p") != userID+", true" {
				t.Errorf("the application hears %q: %s", got, c.read("body"))
			}
			if got := c.visit(at + "/login"); got != "Sign in" {
				t.Errorf("after the logout the application leads to %q", got)
			}
		})
	}
}
