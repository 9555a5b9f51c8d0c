package token_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"herald/services/auth/internal/oauth/authorize"
	"herald/services/auth/internal/oauth/token"
	"herald/services/auth/internal/testworld"
)

// A client library of others logs a person in with PKCE, verifies the tokens and renews them.
func TestForeignLibraryLogsIn(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	mux := http.NewServeMux()
	mux.Handle(authorize.Path, w.Pages)
	mux.Handle(token.Path, w.Programs)
	server := httptest.NewServer(mux)
	defer server.Close()
	c := oauth2.Config{
		ClientID: "web", ClientSecret: "secret", RedirectURL: testworld.Callback,
		Scopes:   []string{oidc.ScopeOpenID, oidc.ScopeOfflineAccess},
		Endpoint: oauth2.Endpoint{AuthURL: server.URL + authorize.Path, TokenURL: server.URL + token.Path},
	}
	verifier := oauth2.GenerateVerifier()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), "GET",
		c.AuthCodeURL("st", oauth2.S256ChallengeOption(verifier), oidc.Nonce("no")), http.NoBody)
	w.Must(err)
	r.Header.Set("Cookie", w.Cookie())
	answer, err := browser.Do(r)
	w.Must(err)
	defer func() { _ = answer.Body.Close() }()
	to, err := answer.Location()
	w.Must(err)
	tokens, err := c.Exchange(t.Context(), to.Query().Get("code"), oauth2.VerifierOption(verifier))
	w.Must(err)
	text, _ := tokens.Extra("id_token").(string)
	check := oidc.NewVerifier(testworld.Public, published(w), &oidc.Config{ClientID: "web", Now: w.Now})
	id, err := check.Verify(t.Context(), text)
	w.Must(err)
	w.Must(id.VerifyAccessToken(tokens.AccessToken))
	if id.Subject != "ada" || id.Nonce != "no" || !tokens.Valid() {
		t.Errorf("%+v, %+v", id, tokens)
	}
	next, err := c.TokenSource(t.Context(), &oauth2.Token{RefreshToken: tokens.RefreshToken}).Token()
	w.Must(err)
	if next.AccessToken == tokens.AccessToken || next.RefreshToken == tokens.RefreshToken || !next.Valid() {
		t.Errorf("%+v", next)
	}
}

// published returns the keys that clients read.
func published(w *testworld.OAuth) *oidc.StaticKeySet {
	w.Helper()
	var set jose.JSONWebKeySet
	jwks, _ := w.Keys.JWKS(w.Context())
	w.Must(json.Unmarshal(jwks, &set))
	known := &oidc.StaticKeySet{}
	for _, k := range set.Keys {
		known.PublicKeys = append(known.PublicKeys, k.Key)
	}
	return known
}
