package token

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"maps"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
)

// idToken returns the id token of a person's login (OpenID Connect Core section 2), issued together with an access
// token.
func (e *Endpoint) idToken(ctx context.Context, g granted, accessToken string) (string, error) {
	further, err := e.Claims.IDToken(ctx, g.client, g.user, g.Authorization, g.Scopes)
	if err != nil {
		return "", err
	}
	// Clocks of clients may differ by the skew that their owner configured.
	now, skew := e.Now(), g.client.ClockSkew
	claims := domain.Claims{
		"iss": e.Issuer, "sub": g.Subject(), "aud": []string{g.ClientID}, "azp": g.ClientID,
		"exp": g.expires.Add(skew).Unix(), "iat": now.Add(-skew).Unix(),
		"auth_time": g.AuthTime.Add(-skew).Unix(),
		"at_hash":   accessHash(accessToken),
	}
	if len(g.AMR) > 0 {
		claims["amr"] = g.AMR
	}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	if g.SessionID != "" {
		claims["sid"] = g.SessionID
	}
	maps.Copy(further, claims)
	return e.Tokens.Keys.Sign(signing.IDToken(), further)
}

// accessHash is the left half of the SHA-256 of an access token (OpenID Connect Core section 3.1.3.6).
func accessHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}
