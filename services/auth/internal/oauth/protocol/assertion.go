package protocol

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"herald/services/auth/internal/domain"
)

// AssertionAlgorithm is the only algorithm of assertions.
const AssertionAlgorithm = string(jose.RS256)

// maxAssertion is how many bytes an assertion may have.
const maxAssertion = 8 << 10

// Assertion is a JWT that somebody sent to authenticate. Its content must not be trusted before Verify.
type Assertion struct {
	// Issuer is who has made it, and KeyID is the id of the key that has signed it.
	Issuer, KeyID string
	signed        *jwt.JSONWebToken
}

var errAssertion = domain.ErrInvalidGrant.Say("the assertion is not a JWT that one of the keys has signed by RS256")

// ParseAssertion reads an assertion (RFC 7523 section 3). The only algorithm is RS256.
func ParseAssertion(text string) (Assertion, error) {
	if len(text) > maxAssertion {
		return Assertion{}, errAssertion.Because(errors.New("too long"))
	}
	signed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return Assertion{}, errAssertion.Because(err)
	}
	var c claims
	if err := signed.UnsafeClaimsWithoutVerification(&c); err != nil {
		return Assertion{}, errAssertion.Because(err)
	}
	header := signed.Headers[0]
	if header.KeyID == "" || c.Issuer == "" {
		return Assertion{}, domain.ErrInvalidGrant.Say("the assertion: kid and iss must be there")
	}
	for _, text := range []string{header.KeyID, c.Issuer, c.Subject, c.ID} {
		if !domain.Plain(text) {
			return Assertion{}, domain.ErrInvalidGrant.Say("the assertion: kid, iss, sub or jti has control characters")
		}
	}
	return Assertion{Issuer: c.Issuer, KeyID: header.KeyID, signed: signed}, nil
}

// Verify returns the claims if the key has signed them, given as SubjectPublicKeyInfo in DER.
func (a Assertion) Verify(der []byte) (domain.Assertion, error) {
	key, err := publicKey(der)
	if err != nil {
		return domain.Assertion{}, errAssertion.Because(err)
	}
	var c claims
	if err := a.signed.Claims(key, &c); err != nil {
		return domain.Assertion{}, errAssertion.Because(err)
	}
	return domain.Assertion{
		Issuer: c.Issuer, Subject: c.Subject, ID: c.ID, Audience: c.Audience,
		ExpiresAt: c.Expiry.time(), IssuedAt: c.IssuedAt.time(), NotBefore: c.NotBefore.time(), Scope: c.Scope,
	}, nil
}

type claims struct {
	Issuer    string    `json:"iss"`
	Subject   string    `json:"sub"`
	Audience  audiences `json:"aud"`
	Expiry    date      `json:"exp"`
	NotBefore date      `json:"nbf"`
	IssuedAt  date      `json:"iat"`
	ID        string    `json:"jti"`
	Scope     string    `json:"scope"`
}

// audiences are a text or a list of them (RFC 7519 section 4.1.3).
type audiences []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audiences) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*a = audiences{one}
		return nil
	}
	var all []string
	err := json.Unmarshal(b, &all)
	*a = all
	return err
}

// date is a NumericDate: seconds since 1970, which may have a fraction (RFC 7519 section 2). 0 counts as missing.
type date float64

// latest is the last second of the year 9999: no later time can be written.
const latest = 253402300799

// UnmarshalJSON implements json.Unmarshaler. It refuses times that cannot be written.
func (d *date) UnmarshalJSON(b []byte) error {
	var seconds float64
	if err := json.Unmarshal(b, &seconds); err != nil {
		return err
	}
	if !(seconds >= 0 && seconds <= latest) {
		return errors.New("not a time")
	}
	*d = date(seconds)
	return nil
}

func (d date) time() time.Time {
	if d == 0 {
		return time.Time{}
	}
	seconds, fraction := math.Modf(float64(d))
	return time.Unix(int64(seconds), int64(fraction*1e9)).UTC()
}
