package directory

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/secret"
)

// Test tries what a login at a provider needs, without a person, and returns what each step found. A step that needs
// one that went wrong is left out. The findings have nothing of the directory's answers but codes of OAuth 2.0.
func (d *Directory) Test(ctx context.Context, i domain.Idp, clientSecret secret.Text) []domain.Finding {
	m, err := d.metadata(ctx, i.Segment())
	if err != nil {
		return []domain.Finding{tenantFinding(err)}
	}
	return []domain.Finding{
		{Step: domain.TestMetadata, Message: "The directory describes the tenant."},
		d.testKeys(ctx, m), d.testClient(ctx, i, clientSecret, m), d.testLogin(ctx, i),
	}
}

// tenantFinding is what an error of the metadata means: a directory that answers about no such tenant, or none at all.
func tenantFinding(err error) domain.Finding {
	if refused, ok := errors.AsType[statusError](err); ok && refused.code < http.StatusInternalServerError {
		return domain.Finding{Step: domain.TestMetadata, Settings: []string{"tenant"}, Message: fmt.Sprintf(
			"The directory does not describe the tenant: it answers with the status %d.", refused.code)}
	}
	return domain.Finding{Step: domain.TestMetadata, Failed: true,
		Message: "The directory does not answer as it should. This is not a setting of the provider; try again later."}
}

func (d *Directory) testKeys(ctx context.Context, m metadata) domain.Finding {
	found, err := d.keysAt(ctx, m.JWKSURI, func(all []key) bool { return len(all) > 0 })
	if err != nil || len(found) == 0 {
		return domain.Finding{Step: domain.TestKeys, Failed: true,
			Message: "The directory publishes no keys that can be used. This is not a setting of the provider."}
	}
	return domain.Finding{Step: domain.TestKeys, Message: "The directory publishes the keys that sign its tokens."}
}

// testClient asks for the tokens of a code that does not exist. The directory authenticates the client before it looks
// at the code (RFC 6749 section 4.1.3).
func (d *Directory) testClient(
	ctx context.Context, i domain.Idp, clientSecret secret.Text, m metadata,
) domain.Finding {
	asked := context.WithValue(ctx, oauth2.HTTPClient, d.http)
	_, err := d.client(i, clientSecret, m).Exchange(asked, secret.RandomString(randomLength),
		oauth2.VerifierOption(secret.RandomString(randomLength)))
	refused, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case answered && (refused.ErrorCode == "invalid_client" || refused.ErrorCode == "unauthorized_client"):
		return domain.Finding{Step: domain.TestClient, Settings: []string{"clientId", "clientSecret"},
			Message: "The directory does not accept the client id with the client secret (" + refused.ErrorCode + ")."}
	case answered && refused.ErrorCode == "invalid_grant":
		return domain.Finding{Step: domain.TestClient, Message: "The directory accepts the client id and the secret."}
	}
	return domain.Finding{Step: domain.TestClient, Failed: true,
		Message: "The directory's token endpoint does not say whether it accepts the client id with the client secret."}
}

// randomLength is the length of values that nobody can guess.
const randomLength = 43

// testLogin opens the page of a login as a browser does. The directory must not redirect to an address that is not
// registered (RFC 6749 section 4.1.2.1), so it shows an error itself.
func (d *Directory) testLogin(ctx context.Context, i domain.Idp) domain.Finding {
	found := domain.Finding{Step: domain.TestLogin}
	challenge := base64.RawURLEncoding.EncodeToString(secret.Hash(secret.RandomString(randomLength)))
	address, err := d.Address(ctx, i, Login{
		State: secret.RandomString(randomLength), Nonce: secret.RandomString(randomLength), Challenge: challenge,
	})
	status, to := 0, (*url.URL)(nil)
	if err == nil {
		status, to, err = d.page(ctx, address)
	}
	code := ""
	if to != nil {
		code = to.Query().Get("error")
	}
	switch {
	case err != nil, status >= http.StatusInternalServerError:
		found.Failed = true
		found.Message = "The directory's login page does not answer as it should. This is no setting of the provider."
	case status >= http.StatusBadRequest:
		found.Settings = []string{"redirectUri", "clientId"}
		found.Message = fmt.Sprintf("The directory refuses the login with the status %d: register the redirect URI %s "+
			"for the client there.", status, d.callback)
	case code == "invalid_scope":
		found.Settings = []string{"scopes"}
		found.Message = "The directory does not know one of the scopes (invalid_scope)."
	case code == "unauthorized_client":
		found.Settings = []string{"clientId"}
		found.Message = "The directory does not let the client log people in (unauthorized_client)."
	default:
		found.Message = "The directory begins a login. Whether it ends well, only a login shows."
	}
	return found
}

// page opens a page and returns its status and where it redirects to, if it does.
func (d *Directory) page(ctx context.Context, address string) (status int, to *url.URL, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, idpfault.ErrIdpAway.Because(err)
	}
	answer, err := d.http.Do(r)
	if err != nil {
		return 0, nil, idpfault.ErrIdpAway.Because(err)
	}
	_ = answer.Body.Close()
	if to, err = answer.Location(); errors.Is(err, http.ErrNoLocation) {
		err = nil
	}
	return answer.StatusCode, to, err
}

// statusError is the status with which the directory refuses a document.
type statusError struct {
	address string
	code    int
}

// Error implements error.
func (e statusError) Error() string {
	return fmt.Sprintf("%s answers %d %s", e.address, e.code, http.StatusText(e.code))
}
