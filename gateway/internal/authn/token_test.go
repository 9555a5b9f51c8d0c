package authn

import (
	"regexp"
	"testing"

	"herald/shared/secret"
)

func FuzzLooksLikeJWT(f *testing.F) {
	for _, token := range []string{"", "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", "a.b.c.d", "a.b=.c", "a.\n.c"} {
		f.Add(token)
	}
	form := regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	f.Fuzz(func(t *testing.T, token string) {
		want := len(token) <= maxJWT && form.MatchString(token)
		if looksLikeJWT(token) != want {
			t.Errorf("%q looks like a JWT: %v", token, !want)
		}
	})
}

// A service is asked only about a token that may be valid.
func TestWellFormedTokens(t *testing.T) {
	t.Parallel()
	for kind, want := range map[secret.TokenKind]bool{
		secret.PersonalAccessToken: true, secret.AccessToken: true,
		secret.RefreshToken: false, secret.AuthorizationCode: false, secret.DeviceCode: false,
	} {
		token := kind.New().Reveal()
		if wellFormed(token) != want || wellFormed(token[1:]) || wellFormed(token+"0") {
			t.Errorf("tokens %s are well formed: %v", kind, !want)
		}
	}
}
