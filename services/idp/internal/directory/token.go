package directory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/secret"
)

// leeway is how far the clocks of the directory and of Herald may be apart.
const leeway = 30 * time.Second

// claims are the claims of an id token that a login uses. Userinfo has the claims of profile too.
type claims struct {
	Nonce           string   `json:"nonce"`
	AuthorizedParty string   `json:"azp"`
	TenantID        string   `json:"tid"`
	ObjectID        string   `json:"oid"`
	AuthTime        int64    `json:"auth_time"`
	AMR             []string `json:"amr"`
	profile

	subject string
}

// profile is what a directory says about a person (OpenID Connect Core section 5.1). xms_pl is a claim of directories
// of the Entra kind: the language that the person prefers.
type profile struct {
	Name              string `json:"name"`
	GivenName         string `json:"given_name"`
	FamilyName        string `json:"family_name"`
	PreferredUsername string `json:"preferred_username"`
	Email             string `json:"email"`
	Locale            string `json:"locale"`
	Language          string `json:"xms_pl"`
	Nickname          string `json:"nickname"`
	Phone             string `json:"phone_number"`
	// PhoneVerified is about Phone of the same document.
	PhoneVerified truth `json:"phone_number_verified"`
}

// truth is a claim that is true or "true". Everything else is false.
type truth bool

// UnmarshalJSON implements json.Unmarshaler.
func (t *truth) UnmarshalJSON(text []byte) error {
	*t = string(text) == "true" || string(text) == `"true"`
	return nil
}

// verify checks an id token (OpenID Connect Core section 3.1.3.7). It checks the signature too, although the token came
// directly from the directory.
func (d *Directory) verify(
	ctx context.Context, i domain.Idp, m metadata, raw, nonce string,
) (claims, error) {
	signed, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return claims{}, idpfault.ErrIdpTokenInvalid.Because(err)
	}
	signer, err := d.signer(ctx, m, signed)
	if err != nil {
		return claims{}, err
	}
	var (
		standard jwt.Claims
		c        claims
	)
	if err := signed.Claims(signer.Key, &standard, &c); err != nil {
		return claims{}, idpfault.ErrIdpTokenInvalid.Because(err)
	}
	c.subject = standard.Subject
	if err := d.standard(i, standard, c, nonce); err != nil {
		return claims{}, idpfault.ErrIdpTokenInvalid.Because(err)
	}
	c.TenantID = strings.ToLower(c.TenantID)
	if err := i.Admits(c.TenantID, m.tenant); err != nil {
		return claims{}, idpfault.ErrIdpTenantRefused.Because(fmt.Errorf("tenant %.60q", c.TenantID))
	}
	issuer := domain.Issuer(d.base, c.TenantID)
	if standard.Issuer != issuer || !signer.signs(issuer, c.TenantID) {
		return claims{}, idpfault.ErrIdpTenantRefused.Because(fmt.Errorf(
			"the token of tenant %s has the issuer %.200q, and its key is one of %.200q", c.TenantID, standard.Issuer,
			signer.issuer))
	}
	return c, nil
}

// standard checks the claims that every id token has.
func (d *Directory) standard(i domain.Idp, s jwt.Claims, c claims, nonce string) error {
	err := s.ValidateWithLeeway(jwt.Expected{Time: d.now()}, leeway)
	switch {
	case err != nil:
		return err
	case s.Expiry == nil || s.IssuedAt == nil || s.Subject == "":
		return errors.New("exp, iat or sub is missing")
	case !slices.Equal(s.Audience, jwt.Audience{i.ClientID}):
		return errors.New("the audience is not this client alone")
	case c.AuthorizedParty != "" && c.AuthorizedParty != i.ClientID:
		return errors.New("azp is another client")
	case nonce == "" || !secret.Equal([]byte(c.Nonce), []byte(nonce)):
		return errors.New("the nonce is that of another login")
	case c.TenantID == "" || c.ObjectID == "":
		return errors.New("tid or oid is missing: they come with the scope profile")
	case c.ObjectID != text(c.ObjectID) || len(c.ObjectID) > maxID:
		return errors.New("the oid is no id: it has control characters, spaces around it or more than 200 bytes")
	case c.AuthTime > d.now().Add(leeway).Unix():
		return errors.New("auth_time is ahead of the clock")
	}
	return nil
}

// signer returns the key that has signed a token. Without an id the key must be the only one.
func (d *Directory) signer(ctx context.Context, m metadata, signed *jwt.JSONWebToken) (key, error) {
	id := signed.Headers[0].KeyID
	find := func(all []key) (found []key) {
		for _, k := range all {
			usable := (k.Use == "" || k.Use == "sig") && (k.Algorithm == "" || k.Algorithm == string(jose.RS256))
			if usable && (id == "" || k.KeyID == id) {
				found = append(found, k)
			}
		}
		return found
	}
	verifies := func(all []key) bool {
		found := find(all)
		return len(found) == 1 && signed.Claims(found[0].Key) == nil
	}
	all, err := d.keysAt(ctx, m.JWKSURI, verifies)
	if err != nil {
		return key{}, err
	}
	found := find(all)
	if len(found) != 1 {
		return key{}, idpfault.ErrIdpTokenInvalid.Because(
			fmt.Errorf("%d keys can be the one with the id %.100q", len(found), id))
	}
	return found[0], nil
}

// signs reports whether the key may sign tokens of an issuer.
func (k key) signs(issuer, tenantID string) bool {
	return k.issuer == "" || strings.ReplaceAll(k.issuer, "{tenantid}", tenantID) == issuer
}

// lacks reports whether the id token lacks something that a login at the provider uses.
func (c claims) lacks(i domain.Idp) bool {
	switch {
	case c.Email == "" && i.EmailVerified:
		return true
	case !i.Options.NeedsProfile():
		return false
	}
	return c.GivenName == "" || c.FamilyName == "" || c.Email == "" ||
		c.Phone == "" && slices.Contains(i.Scopes, "phone")
}

// userinfo adds what the id token lacks (OpenID Connect Core section 5.3).
func (d *Directory) userinfo(ctx context.Context, m metadata, token *oauth2.Token, c *claims) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.UserinfoEndpoint, http.NoBody)
	if err != nil {
		return idpfault.ErrIdpAway.Because(err)
	}
	r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	var more struct {
		Subject string `json:"sub"`
		profile
	}
	if err := d.read(r, &more); err != nil {
		return err
	}
	if more.Subject != c.subject {
		return idpfault.ErrIdpTokenInvalid.Because(errors.New("userinfo speaks of somebody else"))
	}
	if c.Phone == "" {
		c.PhoneVerified = more.PhoneVerified
	}
	for _, f := range []struct {
		to   *string
		from string
	}{
		{&c.Name, more.Name}, {&c.GivenName, more.GivenName}, {&c.FamilyName, more.FamilyName},
		{&c.PreferredUsername, more.PreferredUsername}, {&c.Email, more.Email}, {&c.Locale, more.Locale},
		{&c.Language, more.Language}, {&c.Nickname, more.Nickname}, {&c.Phone, more.Phone},
	} {
		if *f.to == "" {
			*f.to = f.from
		}
	}
	return nil
}
