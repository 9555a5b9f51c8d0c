package command

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"herald/shared/fault"
	"herald/shared/resource"
	"herald/shared/secret"
)

const (
	// apiScope has the scopes that a token needs for the methods of the API.
	apiScope = "openid urn:service:iam:org:project:id:service:aud"
	// assertionLifetime is how long the JWT of a login is valid.
	assertionLifetime = time.Minute
	// clockLeeway is the difference between the clocks above which the error of a refused login names them as the
	// cause.
	clockLeeway = 30 * time.Second
	// maxDocument bounds the answers of a login, in bytes.
	maxDocument = 1 << 20
)

// machineKey is the key file of a machine user: keyDetails of AddMachineKey, decoded from base64.
type machineKey struct {
	Type           string      `json:"type"`
	ID             string      `json:"keyId"`
	Key            secret.Text `json:"-"`
	ExpirationDate time.Time   `json:"expirationDate"`
	UserID         string      `json:"userId"`
}

// readMachineKey parses a key file. It refuses an expired key, and the error says what to do.
func readMachineKey(text secret.Text, now time.Time) (machineKey, error) {
	var file struct {
		machineKey
		Private string `json:"key"`
	}
	if err := json.Unmarshal([]byte(text.Reveal()), &file); err != nil {
		return machineKey{}, errors.New("it is not the JSON of a key file: keyDetails of the answer must be decoded " +
			"from base64")
	}
	k := file.machineKey
	k.Key = secret.NewText(file.Private)
	switch {
	case k.Type == "application":
		return k, errors.New("it is the key of an application, which is no caller of the API: take that of a " +
			"machine user")
	case k.ID == "" || k.UserID == "":
		return k, errors.New("keyId or userId is missing: it is not the key file of a machine user")
	case k.Key.Empty():
		return k, errors.New("it has no private key, because the key was made with a publicKey: add the private key " +
			"as PEM in the member key")
	case !k.ExpirationDate.IsZero() && !now.Before(k.ExpirationDate):
		return k, fmt.Errorf("the key expired at %s: make another one with Machines.AddMachineKey",
			k.ExpirationDate.UTC().Format(time.RFC3339))
	}
	return k, nil
}

// assertion returns a JWT with which the user logs in at an issuer (RFC 7523 section 3).
func (k machineKey) assertion(issuer string, now time.Time) (string, error) {
	block, _ := pem.Decode([]byte(k.Key.Reveal()))
	if block == nil {
		return "", errors.New("its member key is not PEM")
	}
	var private any
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		private, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return "", errors.New("its member key is not an RSA private key")
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: private},
		(&jose.SignerOptions{}).WithHeader("kid", k.ID))
	if err != nil {
		return "", fmt.Errorf("its member key: %w", err)
	}
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: k.UserID, Subject: k.UserID, Audience: jwt.Audience{issuer}, ID: resource.NewID(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(assertionLifetime)),
	}).Serialize()
}

// logIn returns an access token for a machine user's key file. It does not store the token.
func logIn(ctx context.Context, client *http.Client, instance string, file secret.Text, scope string) (
	secret.Text, error,
) {
	key, err := readMachineKey(file, time.Now())
	if err != nil {
		return secret.Text{}, fmt.Errorf("the key file: %w", err)
	}
	at, err := discover(ctx, client, instance)
	if err != nil {
		return secret.Text{}, err
	}
	assertion, err := key.assertion(instance, time.Now())
	if err != nil {
		return secret.Text{}, fmt.Errorf("the key file: %w", err)
	}
	form := url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}, "scope": {scope},
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, at.Token, strings.NewReader(form.Encode()))
	if err != nil {
		return secret.Text{}, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var said struct {
		AccessToken string `json:"access_token"`
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	w, err := fetch(client, r, &said)
	switch {
	case err != nil:
		return secret.Text{}, err
	case said.Error != "":
		return secret.Text{}, notLoggedIn(w, said.Error, said.Description, time.Now())
	case w.status != http.StatusOK || said.AccessToken == "":
		return secret.Text{}, fmt.Errorf("%s answered %d without a token", at.Token, w.status)
	}
	return secret.NewText(said.AccessToken), nil
}

// metadata has the endpoints of an instance that the command line needs.
type metadata struct {
	Issuer     string `json:"issuer"`
	Token      string `json:"token_endpoint"`
	Device     string `json:"device_authorization_endpoint"`
	Revocation string `json:"revocation_endpoint"`
}

// discover returns the endpoints of an instance. The issuer in the instance's metadata must be the address that was
// asked. Otherwise a false instance could use the signed assertion at another instance (OpenID Connect Discovery
// section 4.3).
func discover(ctx context.Context, client *http.Client, instance string) (*metadata, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, instance+"/.well-known/openid-configuration", http.NoBody)
	if err != nil {
		return nil, err
	}
	var m metadata
	w, err := fetch(client, r, &m)
	switch {
	case err != nil:
		return nil, err
	case w.status != http.StatusOK || m.Issuer == "":
		return nil, fmt.Errorf("%s answered %d: is it the address of an instance?", instance, w.status)
	case m.Issuer != instance:
		return nil, fmt.Errorf("the instance at %s calls itself %s: use this address, as --url or HERALD_PUBLIC_URL",
			instance, line(m.Issuer))
	case !strings.HasPrefix(m.Token, instance+"/"):
		return nil, fmt.Errorf("%s has no token endpoint", instance)
	}
	for _, endpoint := range []*string{&m.Device, &m.Revocation} {
		if !strings.HasPrefix(*endpoint, instance+"/") {
			*endpoint = ""
		}
	}
	return &m, nil
}

// reply is an answer without its body.
type reply struct {
	status int
	header http.Header
}

// fetch sends a request and parses the JSON of the answer.
func fetch(client *http.Client, r *http.Request, into any) (reply, error) {
	w, err := client.Do(r)
	if err != nil {
		return reply{}, errors.New(line(err.Error()))
	}
	defer w.Body.Close()
	body, err := io.ReadAll(io.LimitReader(w.Body, maxDocument))
	if err != nil {
		return reply{}, errors.New(line(err.Error()))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return reply{}, fmt.Errorf("%s answered %d, and not as an instance does", r.URL, w.StatusCode)
	}
	return reply{w.StatusCode, w.Header}, nil
}

// notLoggedIn returns the error for a refusal by the token endpoint. It says what to change.
func notLoggedIn(w reply, code, description string, now time.Time) error {
	f := fault.ErrUnauthenticated
	if w.status >= http.StatusInternalServerError {
		f = fault.ErrUnavailable
	}
	said := "the login with the key file was refused: " + code
	if description != "" {
		said += ": " + description
	}
	if at, err := http.ParseTime(w.header.Get("Date")); err == nil {
		switch ahead := now.Sub(at).Round(time.Second); {
		case ahead > clockLeeway:
			said += fmt.Sprintf("; the clock of this machine is %s ahead of the instance's: set it", ahead)
		case ahead < -clockLeeway:
			said += fmt.Sprintf("; the clock of this machine is %s behind the instance's: set it", -ahead)
		}
	}
	return &refusal{f.Say("%s", said), w.header.Get("X-Request-Id")}
}
