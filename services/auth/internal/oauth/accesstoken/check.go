package accesstoken

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/consent"
	"herald/services/auth/internal/upstream"
	"herald/shared/fault"
)

// Check is Alive for a token whose user has agreed to it and has not taken that back, and gets tokens of the project.
// For others it returns fault.ErrUnauthenticated too.
func (t Tokens) Check(ctx context.Context, a domain.Authorization) (c domain.Client, s domain.Subject, err error) {
	var g errgroup.Group
	g.Go(func() (err error) {
		c, s, err = t.Alive(ctx, a)
		return err
	})
	g.Go(func() error { return t.Consents().Stands(ctx, a) })
	if err = g.Wait(); err == nil {
		err = t.Consents().Admits(ctx, c.Project, a)
	}
	return c, s, err
}

// Consents returns what people have agreed to.
func (t Tokens) Consents() consent.Consents {
	return consent.Consents{Store: t.Store, Upstream: t.Upstream}
}

// Alive returns the client of a token, and the user with a profile, if everything on which the token depends is active
// and unchanged since the token was issued. Otherwise it returns fault.ErrUnauthenticated. For a machine user that
// logged in by itself the client is empty. For an application that logged in by itself the user is empty.
func (t Tokens) Alive(ctx context.Context, a domain.Authorization) (domain.Client, domain.Subject, error) {
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

// gone returns fault.ErrUnauthenticated for a client or user that does not exist any more.
func gone(err error) error {
	if errors.Is(err, upstream.ErrNoClient) || errors.Is(err, upstream.ErrNoUser) {
		return fault.ErrUnauthenticated.Because(err)
	}
	return err
}
