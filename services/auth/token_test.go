package auth_test

import (
	"errors"
	"testing"

	"herald/services/auth/internal/testworld"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// Whatever is no token that was issued is refused in the same way.
func TestUnknownTokensAreRefusedAlike(t *testing.T) {
	t.Parallel()
	service := testworld.Open(t, testkit.Ground(t), testworld.Public).(testworld.Edge).Auth
	for _, r := range []*authv1.ResolveTokenRequest{
		{},
		{Token: &authv1.ResolveTokenRequest_TokenHash{TokenHash: secret.Hash(secret.AccessToken.New().Reveal())}},
		{Token: &authv1.ResolveTokenRequest_TokenHash{}},
		{Token: &authv1.ResolveTokenRequest_Jwt{Jwt: "eyJhbGciOiJub25lIn0.e30.YQ"}},
		{Token: &authv1.ResolveTokenRequest_Jwt{Jwt: "a.b.c"}, OrgId: "o1"},
	} {
		if got, err := service.ResolveToken(t.Context(), r); !errors.Is(err, fault.ErrTokenInvalid) {
			t.Errorf("%v: %v, %v", r, got, err)
		}
	}
}
