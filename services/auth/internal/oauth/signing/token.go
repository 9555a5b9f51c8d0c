package signing

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"herald/services/auth/internal/domain"
)

// MaxToken is how many bytes a token may have.
const MaxToken = 8 << 10

// ErrToken is returned for a text that is not a token of the kind, signed by this system. The reason is in its chain,
// for logs only.
var ErrToken = errors.New("not a token of ours")

// Kind is a kind of token. A token of one kind is never taken for another.
type Kind struct {
	algorithm domain.Algorithm
	// typ is the token's media type (RFC 7515 section 4.1.9).
	typ jose.ContentType
}

// Algorithm returns the name of the algorithm (RFC 7518 section 3.1).
func (k Kind) Algorithm() string { return string(k.algorithm) }

// IDToken is the kind of id tokens (OpenID Connect Core section 2).
func IDToken() Kind { return Kind{domain.RS256, "JWT"} }

// LogoutToken is the kind of logout tokens (OpenID Connect Back-Channel Logout section 2.4). They are signed like id
// tokens, because the same clients verify it.
func LogoutToken() Kind { return Kind{domain.RS256, "logout+jwt"} }

// AccessToken is the kind of JWT access tokens (RFC 9068 section 2.1). Resource servers accept the algorithms that the
// discovery document names for id tokens, because it has no member for access tokens.
func AccessToken() Kind { return Kind{domain.RS256, "at+jwt"} }

// Sign returns a token with claims, which are anything that encoding/json writes as an object. It does no I/O.
func (k *Keys) Sign(kind Kind, claims any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	with := k.ring.Load().signing(kind.algorithm, k.Now())
	signer, err := jose.NewSigner(jose.SigningKey{
		Algorithm: jose.SignatureAlgorithm(kind.algorithm), Key: jose.JSONWebKey{Key: with.pair, KeyID: with.id},
	}, (&jose.SignerOptions{}).WithType(kind.typ))
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed.CompactSerialize()
}

// Verify returns the claims of a token of a kind, as JSON. It returns ErrToken for any other text. It does not look at
// the claims: the caller checks issuer, audience and expiry. Verify accepts only one text for each token. It does no
// I/O.
func (k *Keys) Verify(kind Kind, token string) ([]byte, error) {
	if !canonical(token) {
		return nil, fmt.Errorf("%w: not in compact form, or too long", ErrToken)
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(kind.algorithm)})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	header := signed.Signatures[0].Protected
	// Sign writes alg, kid and typ. With another member, such as jwk, jku or x5u, a sender could make Herald use
	// another key.
	if header.JSONWebKey != nil || len(header.ExtraHeaders) != 1 ||
		header.ExtraHeaders[jose.HeaderType] != string(kind.typ) {
		return nil, fmt.Errorf("%w: the header is not that of the kind %s", ErrToken, kind.typ)
	}
	with := k.ring.Load().byID[header.KeyID]
	if with == nil || with.algorithm != kind.algorithm {
		return nil, fmt.Errorf("%w: unknown key", ErrToken)
	}
	claims, err := signed.Verify(with.pair.Public())
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	return claims, nil
}

// canonical reports whether a token has three parts, each the only base64url text of its bytes: decoders ignore line
// breaks and unused bits, so that other texts would give the same bytes.
func canonical(token string) bool {
	if len(token) > MaxToken || strings.ContainsAny(token, "\r\n") || strings.Count(token, ".") != 2 {
		return false
	}
	for part := range strings.SplitSeq(token, ".") {
		if _, err := base64.RawURLEncoding.Strict().DecodeString(part); err != nil || part == "" {
			return false
		}
	}
	return true
}
