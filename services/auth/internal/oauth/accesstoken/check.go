package accesstoken

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/upstream"
	"herald/shared/fault"
)

// Check returns the client of a token, and the user with a profile, if all on which the token depends is active and as
// it was when the token was issued. The client is empty for a machine user, and the user for an application, that
// logged in by itself. Else it returns fault.ErrUnauthenticated.
func (t Tokens) Check(ctx context.Context, a domain.Authorization) (domain.Client, domain.Subject, error) {
	var (
		client domain.Client
		found  domain.Subject
	)
	var g errgroup.Group
	if a.OfApplication() {
		g.Go(func() (err error) {
			var p upstream.Proof
			if a.UserID == "" {
				p.Credential = a.Credential
			}
			client, err = t.Upstream.Application(ctx, a.ClientID, p)
			return err
		})
	}
	g.Go(func() (err error) {
		if a.UserID == "" {
			found.Orgs, err = t.Upstream.Orgs(ctx, a.OrgIDs()...)
			return err
		}
		found, err = t.Upstream.Profile(ctx, a.UserID, a.Credential, a.OrgIDs()...)
		return err
	})
	err := gone(g.Wait())
	if err == nil && !a.Alive(client, found) {
		err = fault.ErrUnauthenticated
	}
	return client, found, err
}

// gone makes the absence of a client or user a token's end.
func gone(err error) error {
	if errors.Is(err, upstream.ErrNoClient) || errors.Is(err, upstream.ErrNoUser) {
		return fault.ErrUnauthenticated.Because(err)
	}
	return err
}
