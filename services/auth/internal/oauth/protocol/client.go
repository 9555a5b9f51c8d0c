package protocol

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/secret"
)

// assertionType is the only type of a client assertion (RFC 7523 section 2.2).
const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// Methods returns the names of all ways to authenticate.
func Methods() []string {
	return []string{string(domain.AuthBasic), string(domain.AuthPost), string(domain.AuthPrivateKeyJWT),
		string(domain.AuthNone)}
}

// Clients authenticates clients.
type Clients struct {
	Upstream *upstream.Services
	Store    store.Store
	// Issuer is the only audience of a client assertion.
	Issuer string
	Now    func() time.Time
}

// clientCredentials is what a request contains about its client.
type clientCredentials struct {
	method    domain.AuthMethod
	id        string
	secret    string
	assertion string
}

// Authenticate returns the client of a request, which must authenticate in a way that is configured for it (RFC 6749
// section 2.3): a public client by its id alone. It returns domain.ErrInvalidClient for all others, unknown and
// inactive ones included. Whether the client's organization is active is not decided here.
func (c Clients) Authenticate(ctx context.Context, r *http.Request, f Form) (domain.Client, error) {
	g, err := clientOf(r, f)
	if err != nil {
		return domain.Client{}, err
	}
	if g.method == domain.AuthPrivateKeyJWT {
		return c.byAssertion(ctx, g)
	}
	var p upstream.Proof
	if g.method != domain.AuthNone {
		p.SecretHash = secret.Hash(g.secret)
	}
	client, err := c.client(ctx, g, p)
	if err != nil {
		return domain.Client{}, err
	}
	if g.method != domain.AuthNone && !client.SecretMatches {
		return domain.Client{}, refused("")
	}
	return client, nil
}

// client returns an active client that authenticates in that way.
func (c Clients) client(ctx context.Context, g clientCredentials, p upstream.Proof) (domain.Client, error) {
	client, err := c.Upstream.Client(ctx, g.id, p)
	switch {
	case errors.Is(err, upstream.ErrNoClient):
		return domain.Client{}, refused("")
	case err != nil:
		return domain.Client{}, err
	case !client.Active:
		return domain.Client{}, refused("")
	case !slices.Contains(client.Methods, g.method):
		return domain.Client{}, refused(asConfigured(client.Methods))
	}
	return client, nil
}

func refused(description string) error {
	if description == "" {
		description = "the client is unknown, inactive, or its secret or key is wrong"
	}
	return domain.ErrInvalidClient.Say(description)
}

// asConfigured says how a client authenticates that can only do so by these methods.
func asConfigured(methods []domain.AuthMethod) string {
	switch {
	case slices.Contains(methods, domain.AuthPrivateKeyJWT):
		return "this application authenticates by private_key_jwt: send client_assertion and client_assertion_type, " +
			"and no secret"
	case slices.Contains(methods, domain.AuthNone):
		return "this application has no secret (none): send client_id in the body, and no Authorization header, " +
			"client_secret or client_assertion"
	}
	return "this client authenticates by its secret: send it in the Authorization header (client_secret_basic) or as " +
		"client_secret in the body (client_secret_post)"
}

// clientOf returns the credentials of a request. It refuses more than one method (RFC 6749 section 2.3).
func clientOf(r *http.Request, f Form) (clientCredentials, error) {
	g := clientCredentials{method: domain.AuthNone, id: f["client_id"]}
	ways := 0
	if header := r.Header["Authorization"]; len(header) > 0 {
		id, password, err := basic(header)
		if err != nil {
			return clientCredentials{}, err
		}
		if g.id != "" && g.id != id {
			return clientCredentials{}, domain.ErrInvalidRequest.Say("client_id differs from the Authorization header")
		}
		ways, g.method, g.id, g.secret = ways+1, domain.AuthBasic, id, password
	}
	if f["client_secret"] != "" {
		ways, g.method, g.secret = ways+1, domain.AuthPost, f["client_secret"]
	}
	if f["client_assertion"] != "" || f["client_assertion_type"] != "" {
		if f["client_assertion_type"] != assertionType {
			return clientCredentials{}, domain.ErrInvalidRequest.Say("client_assertion_type must be " + assertionType)
		}
		ways, g.method, g.assertion = ways+1, domain.AuthPrivateKeyJWT, f["client_assertion"]
	}
	switch {
	case ways > 1:
		return clientCredentials{}, domain.ErrInvalidRequest.Say("the client authenticates in more than one way: " +
			"send one of the Authorization header, client_secret and client_assertion")
	case g.id == "" && g.method != domain.AuthPrivateKeyJWT:
		return clientCredentials{}, refused("the client is missing: send client_id and client_secret, in the " +
			"Authorization header or in the body, or client_assertion")
	}
	return g, nil
}

// basic returns the id and the secret of the Authorization header, of which there is one. Both are form-urlencoded in
// it (RFC 6749 section 2.3.1).
func basic(header []string) (id, password string, err error) {
	r := http.Request{Header: http.Header{"Authorization": header}}
	user, word, ok := r.BasicAuth()
	if !ok || len(header) != 1 {
		return "", "", refused("the Authorization header is not that of HTTP Basic: Basic, a space, and " +
			"client_id:client_secret in base64")
	}
	id, badID := url.QueryUnescape(user)
	password, badPassword := url.QueryUnescape(word)
	if badID != nil || badPassword != nil {
		return "", "", refused("client id and secret in the Authorization header must be form-urlencoded")
	}
	if id == "" || password == "" {
		return "", "", refused("the Authorization header has no client id or no secret: an application without a " +
			"secret sends client_id in the body, and no such header")
	}
	if !domain.Plain(id) || !domain.Plain(password) {
		return "", "", refused("client id and secret must be text in UTF-8 without control characters")
	}
	return id, password, nil
}

// byAssertion authenticates by a JWT that the client's key has signed (OpenID Connect Core section 9).
func (c Clients) byAssertion(ctx context.Context, g clientCredentials) (domain.Client, error) {
	read, err := ParseAssertion(g.assertion)
	if err != nil {
		return domain.Client{}, asClient(err)
	}
	if g.id != "" && g.id != read.Issuer {
		return domain.Client{}, refused("client_id differs from the assertion")
	}
	g.id = read.Issuer
	client, err := c.client(ctx, g, upstream.Proof{KeyID: read.KeyID})
	if err != nil {
		return domain.Client{}, err
	}
	checked, err := read.Verify(client.PublicKey)
	if err == nil {
		err = checked.Check(client.ID, []string{c.Issuer}, true, c.Now())
	}
	if err == nil {
		err = c.Store.Use(ctx, checked.Use())
	}
	return client, asClient(err)
}

// asClient turns the refusal of an assertion into a refusal of the client.
func asClient(err error) error {
	if refusal, ok := errors.AsType[*domain.Refusal](err); ok {
		return domain.ErrInvalidClient.Say(refusal.Description).Because(refusal.Cause)
	}
	return err
}

// publicKey parses a SubjectPublicKeyInfo in DER.
func publicKey(der []byte) (any, error) {
	if der == nil {
		return nil, errors.New("there is no key of that id")
	}
	return x509.ParsePKIXPublicKey(der)
}
