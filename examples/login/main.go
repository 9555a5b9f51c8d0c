// Login is a web application that people log in to with Herald: authorization code flow with PKCE, id token, userinfo,
// logout. At its start it registers itself as an application with the token of an administrator.
//
//	go run ./examples/login .data/admin.pat
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func main() {
	issuer := flag.String("issuer", "http://localhost:8080", "the public URL of Herald")
	listen := flag.String("listen", "localhost:3000", "where the application listens")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("name the file with an administrator's token, such as .data/admin.pat")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *issuer, *listen, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, issuer, listen, tokenFile string) error {
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return err
	}
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		return fmt.Errorf("is Herald running? %w", err)
	}
	own := "http://" + listen
	id, secret, err := register(ctx, issuer, strings.TrimSpace(string(token)), own)
	if err != nil {
		return err
	}
	a := &app{provider: provider, own: own, sessions: map[string]session{}, oauth: oauth2.Config{
		ClientID: id, ClientSecret: secret, RedirectURL: own + "/callback", Endpoint: provider.Endpoint(),
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}}
	server := &http.Server{Addr: listen, Handler: a.routes(), ReadHeaderTimeout: 5 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Println("ready", own)
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// app is the application. Its sessions are in memory, by the value of its cookie.
type app struct {
	provider *oidc.Provider
	oauth    oauth2.Config
	own      string
	mu       sync.Mutex
	sessions map[string]session
}

// session is the state of a browser that is logging in or has logged in.
type session struct {
	state, nonce, verifier string
	idToken                string
	User                   map[string]any
}

const cookie = "example-session"

func (a *app) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", a.home)
	mux.HandleFunc("POST /login", a.login)
	mux.HandleFunc("GET /callback", a.callback)
	mux.HandleFunc("POST /logout", a.logout)
	return http.NewCrossOriginProtection().Handler(mux)
}

var page = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Example</title><h1>Example</h1>
{{with .User}}<p>You are <strong>{{.name}}</strong> ({{.preferred_username}}, {{.email}}).</p>
<form method="post" action="/logout"><button>Log out</button></form>
{{else}}<form method="post" action="/login"><button>Log in with Herald</button></form>{{end}}</html>
`))

func (a *app) home(w http.ResponseWriter, r *http.Request) {
	s, _ := a.session(r)
	_ = page.Execute(w, s)
}

// login sends the browser to Herald. State, nonce and verifier bind the answer to this browser.
func (a *app) login(w http.ResponseWriter, r *http.Request) {
	s := session{state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier()}
	a.keep(w, rand.Text(), s)
	http.Redirect(w, r, a.oauth.AuthCodeURL(s.state, oidc.Nonce(s.nonce), oauth2.S256ChallengeOption(s.verifier)),
		http.StatusSeeOther)
}

// callback receives Herald's answer. It exchanges the code for tokens, and checks the id token.
func (a *app) callback(w http.ResponseWriter, r *http.Request) {
	s, ok := a.session(r)
	q := r.URL.Query()
	if !ok || s.state == "" || q.Get("state") != s.state {
		http.Error(w, "This login was not begun here: start again.", http.StatusBadRequest)
		return
	}
	user, idToken, err := a.user(r.Context(), s, q)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.keep(w, rand.Text(), session{idToken: idToken, User: user})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (a *app) user(ctx context.Context, s session, q url.Values) (user map[string]any, idToken string, err error) {
	if q.Get("code") == "" {
		return nil, "", fmt.Errorf("the login failed: %s %s", q.Get("error"), q.Get("error_description"))
	}
	tokens, err := a.oauth.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(s.verifier))
	if err != nil {
		return nil, "", err
	}
	idToken, _ = tokens.Extra("id_token").(string)
	checked, err := a.provider.Verifier(&oidc.Config{ClientID: a.oauth.ClientID}).Verify(ctx, idToken)
	if err != nil {
		return nil, "", err
	}
	if checked.Nonce != s.nonce {
		return nil, "", errors.New("the id token is for another login")
	}
	info, err := a.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return nil, "", err
	}
	return user, idToken, info.Claims(&user)
}

// logout ends the session here and at Herald (OpenID Connect RP-Initiated Logout).
func (a *app) logout(w http.ResponseWriter, r *http.Request) {
	s, _ := a.session(r)
	a.keep(w, rand.Text(), session{})
	var endpoints struct {
		EndSession string `json:"end_session_endpoint"`
	}
	if err := a.provider.Claims(&endpoints); err != nil || endpoints.EndSession == "" || s.idToken == "" {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	query := url.Values{"id_token_hint": {s.idToken}, "post_logout_redirect_uri": {a.own + "/"}}
	http.Redirect(w, r, endpoints.EndSession+"?"+query.Encode(), http.StatusSeeOther)
}

// session returns the session of a browser.
func (a *app) session(r *http.Request) (session, bool) {
	c, err := r.Cookie(cookie)
	if err != nil {
		return session{}, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.sessions[c.Value]
	return s, ok
}

// keep gives a browser a session.
func (a *app) keep(w http.ResponseWriter, id string, s session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[id] = s
	http.SetCookie(w, &http.Cookie{Name: cookie, Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
