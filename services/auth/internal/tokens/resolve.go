package tokens

import (
	"context"

	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// Resolver has the service's methods for the gateway.
type Resolver struct{}

// ResolveToken returns the caller whose access token it is. It refuses all tokens: none authenticates a caller of the
// API yet.
func (Resolver) ResolveToken(context.Context, *authv1.ResolveTokenRequest) (*authv1.ResolveTokenResponse, error) {
	return nil, fault.ErrTokenInvalid
}
