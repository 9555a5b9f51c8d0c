// Package directory logs people in at an enterprise directory: an OpenID provider with many tenants, whose metadata are
// at <authority>/<tenant>/v2.0. It trusts nothing that comes back through the browser. All it learns comes from the
// directory itself, over connections that it makes, in answers whose size and time are bounded.
package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/outbound"
	"herald/shared/secret"
)

const (
	// deadline bounds each request. maxBody bounds each answer, in bytes: it is ten times what the keys of a large
	// directory need.
	deadline = 5 * time.Second
	maxBody  = 256 << 10
	// maxConns bounds the simultaneous requests, because all organizations use the same directory.
	maxConns = 100
)

// Config says where the directory is.
type Config struct {
	// Authority is the address of the directory without a tenant.
	Authority string
	// Private allows an address that is not public, and an address without TLS on this machine.
	Private bool
	// Callback is where the directory sends browsers back to.
	Callback string
	Now      func() time.Time
	Log      *slog.Logger
}

// Directory is an enterprise directory with all its tenants.
type Directory struct {
	base      string
	plain     bool // its addresses may lack TLS
	callback  string
	http      *http.Client
	now       func() time.Time
	published *published
}

// New returns a directory. It sends no request, because the directory may not be reachable now.
func New(c Config) (*Directory, error) {
	base, err := url.Parse(strings.TrimSuffix(c.Authority, "/"))
	if err != nil {
		return nil, fmt.Errorf("HERALD_DIRECTORY_AUTHORITY: %w", err)
	}
	plain := base.Scheme == "http" && c.Private && loopback(base.Hostname())
	if base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" ||
		base.Scheme != "https" && !plain {
		return nil, errors.New("HERALD_DIRECTORY_AUTHORITY must be an address such as " +
			"https://login.example.com; http only for the own machine, with HERALD_OUTBOUND_PRIVATE=true")
	}
	return &Directory{
		base: base.String(), plain: plain, callback: c.Callback, now: c.Now,
		http: watched(outbound.Config{
			Private: c.Private, Deadline: deadline, MaxBody: maxBody, MaxConnsPerHost: maxConns,
		}.Client(), c.Log),
		published: &published{},
	}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Login holds the values of one login. Each login has new values.
type Login struct {
	State, Nonce, Challenge string
	// Again requires that the directory authenticates the person again, even if the browser is logged in there.
	Again bool
}

// session is the maximum age in seconds of the person's login at the directory. It is ten days, like that of a session
// at Herald.
const session = "864000"

// Address returns where a browser goes for a login at a provider.
func (d *Directory) Address(ctx context.Context, i domain.Idp, l Login) (string, error) {
	m, err := d.metadata(ctx, i.Segment())
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{
		oauth2.SetAuthURLParam("nonce", l.Nonce), oauth2.SetAuthURLParam("code_challenge", l.Challenge),
		oauth2.SetAuthURLParam("code_challenge_method", "S256"),
	}
	age := session
	if l.Again {
		age = "0"
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	// The directory must then say when the person authenticated (OpenID Connect Core section 3.1.2.1).
	options = append(options, oauth2.SetAuthURLParam("max_age", age))
	return d.client(i, secret.Text{}, m).AuthCodeURL(l.State, options...), nil
}

func (d *Directory) client(i domain.Idp, clientSecret secret.Text, m metadata) *oauth2.Config {
	style := oauth2.AuthStyleInHeader
	if m.onlyPost() {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: i.ClientID, ClientSecret: clientSecret.Reveal(), RedirectURL: d.callback, Scopes: openID(i.Scopes),
		Endpoint: oauth2.Endpoint{AuthURL: m.AuthorizationEndpoint, TokenURL: m.TokenEndpoint, AuthStyle: style},
	}
}

// Answer is what a browser brought back, with the values of its login.
type Answer struct {
	Code, Nonce string
	Verifier    string
}

// Account returns the account of the person who logged in. clientSecret is the provider's. If it fails it returns a
// fault of the domain, and the fault's cause says what is wrong.
func (d *Directory) Account(
	ctx context.Context, i domain.Idp, clientSecret secret.Text, a Answer,
) (domain.Account, error) {
	m, err := d.metadata(ctx, i.Segment())
	if err != nil {
		return domain.Account{}, err
	}
	// The keys are read at the same time as the token, so that a slow directory does not make the person wait twice.
	keys := make(chan error, 1)
	go func() { keys <- d.readKeys(ctx, m) }()
	asked := context.WithValue(ctx, oauth2.HTTPClient, d.http)
	token, err := d.client(i, clientSecret, m).Exchange(asked, a.Code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return domain.Account{}, exchangeFault(err)
	}
	if err := <-keys; err != nil {
		return domain.Account{}, err
	}
	raw, _ := token.Extra("id_token").(string)
	c, err := d.verify(ctx, i, m, raw, a.Nonce)
	if err != nil {
		return domain.Account{}, err
	}
	if c.lacks(i) && m.UserinfoEndpoint != "" {
		if err := d.userinfo(ctx, m, token, &c); err != nil {
			return domain.Account{}, err
		}
	}
	return c.account(), nil
}

// exchangeFault returns the fault for a code that could not be exchanged for tokens.
func exchangeFault(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || refused.ErrorCode == "" {
		return idpfault.ErrIdpAway.Because(withoutBody(err))
	}
	return idpfault.ErrIdpCodeRefused.Because(fmt.Errorf("the token endpoint answers %s with %.60q",
		refused.Response.Status, refused.ErrorCode))
}

// withoutBody returns an error whose text has nothing of the directory's answer.
func withoutBody(err error) error {
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("the token endpoint answers %s", refused.Response.Status)
	}
	return err
}

// openID returns scopes with openid, without which there is no id token.
func openID(scopes []string) []string {
	for _, s := range scopes {
		if s == "openid" {
			return scopes
		}
	}
	return append([]string{"openid"}, scopes...)
}
