// Package api answers people's own requests to the Auth service over the REST API.
package api

import (
	"context"
	"errors"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/search"
)

// Server has the service's methods for what the caller has: logins in browsers, and applications with access.
type Server struct {
	Store    store.Store
	Upstream *upstream.Services
	// Credentials and Factors are asked in the name of the caller.
	Credentials usersv1.CredentialsClient
	Factors     usersv1.FactorsClient
	// Environment has the settings of the instance that environment variables set.
	Environment domain.Settings
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

// asked returns what a search needs: a context for own requests of the service, the caller and the page. For a caller
// who has just been removed the user is empty, so that nothing is found.
func (s Server) asked(
	ctx context.Context, q *heraldv1.ListQuery,
) (context.Context, domain.Subject, search.Page, error) {
	ctx = rpc.OnOwnBehalf(ctx)
	p, err := search.Bounds(q, s.MaxLimit)
	if err != nil {
		return ctx, domain.Subject{}, p, err
	}
	u, err := s.Upstream.User(ctx, caller.From(ctx).UserID, upstream.Proof{})
	if errors.Is(err, upstream.ErrNoUser) {
		err = nil
	}
	return ctx, u, p, err
}
