// Package device is the endpoint at which a device without a browser asks for a login (RFC 8628 section 3.1). A person
// enters the code that the device shows at a page, and lets the device in.
package device

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/protocol"
	"herald/shared/secret"
)

const (
	// Path is where the endpoint is.
	Path = "/oauth/v2/device_authorization"
	// Page is where a person enters the code.
	Page = domain.LoginPath + "device"
)

// Endpoint is the device authorization endpoint.
type Endpoint struct {
	protocol.Clients
	// Asks counts the requests of public clients of one address.
	Asks *domain.Limit
	Log  *slog.Logger
}

// asksAMinute is how many logins public clients may begin within a minute from one address. It is limited because
// anybody can pretend to be such a client. It is not lower because many devices may share an address.
const asksAMinute = 60

// NewAsks returns the limit for Endpoint.Asks.
func NewAsks(now func() time.Time) *domain.Limit {
	return domain.NewLimit(asksAMinute, time.Minute, now)
}

// Mount answers the endpoint's path.
func (e Endpoint) Mount(mux *http.ServeMux) {
	mux.HandleFunc(Path, protocol.Only(e.serve, http.MethodPost))
}

// Part returns what clients find by discovery.
func (e Endpoint) Part() discovery.Part {
	return discovery.Part{Paths: map[string]string{"device_authorization_endpoint": Path}}
}

// answered is a response of the endpoint (RFC 8628 section 3.2).
type answered struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int64  `json:"expires_in"`
	Interval                int64  `json:"interval"`
}

func (e Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	answer, err := e.answer(r)
	protocol.Answer(e.Log, w, r, answer, err)
}

func (e Endpoint) answer(r *http.Request) (answered, error) {
	f, err := protocol.ReadForm(r)
	if err != nil {
		return answered{}, err
	}
	client, err := e.Authenticate(r.Context(), r, f)
	if err != nil {
		return answered{}, err
	}
	if !client.MayUse(domain.GrantDevice) {
		return answered{}, domain.ErrUnauthorizedClient.Say("the client may not use the device_code grant")
	}
	scopes, err := e.scopes(r.Context(), f, client)
	if err != nil {
		return answered{}, err
	}
	if client.Public() {
		if wait := e.Asks.Take(r.RemoteAddr); wait > 0 {
			return answered{}, domain.ErrTooMany.Say("too many devices at this address begin a login").After(wait)
		}
	}
	code, userCode, err := e.add(r.Context(), client.ID, scopes)
	if err != nil {
		return answered{}, err
	}
	shown := domain.ShownUserCode(userCode)
	return answered{
		DeviceCode: code.Reveal(), UserCode: shown, VerificationURI: e.Issuer + Page,
		VerificationURIComplete: e.Issuer + Page + "?" + url.Values{"user_code": {shown}}.Encode(),
		ExpiresIn:               int64(domain.DeviceLifetime / time.Second),
		Interval:                int64(domain.DeviceInterval / time.Second),
	}, nil
}

// scopes returns the scopes of a request. It refuses those with which the client could get no tokens.
func (e Endpoint) scopes(ctx context.Context, f protocol.Form, client domain.Client) ([]string, error) {
	targets, err := f.Targets()
	if err != nil {
		return nil, err
	}
	scopes, err := domain.Scopes(f["scope"], targets...)
	if err == nil {
		err = e.Upstream.Admit(ctx, client.Project, new(client.Asks(scopes, targets...)))
	}
	return scopes, err
}

// add stores a request with a user code that no other device shows.
func (e Endpoint) add(ctx context.Context, clientID string, scopes []string) (secret.Text, string, error) {
	const tries = 10 // even a second try is almost never needed
	for range tries {
		code, userCode := secret.DeviceCode.New(), secret.RandomOf(domain.UserCodeLetters, domain.UserCodeLength)
		added, err := e.Store.AddDevice(ctx, domain.NewDevice{
			Hash: secret.Hash(code.Reveal()), UserCode: userCode, ClientID: clientID, Scopes: scopes,
			ExpiresAt: e.Now().Add(domain.DeviceLifetime),
		})
		if added || err != nil {
			return code, userCode, err
		}
	}
	return secret.Text{}, "", errors.New("no user code is free")
}
