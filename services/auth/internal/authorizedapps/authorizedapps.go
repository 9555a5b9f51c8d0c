// Package authorizedapps lists the applications to which a person gave access, and revokes it.
package authorizedapps

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/upstream"
	"herald/shared/gen/fault/authfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	// atOnce is how many requests for applications run at a time.
	atOnce = 8
	// mostThere is how many applications Existing returns.
	mostThere = 200
)

// Apps are the applications to which people gave access.
type Apps struct {
	Store    store.Store
	Upstream *upstream.Services
}

// Application is an application to which a person gave access.
type Application struct {
	domain.AuthorizedApp
	Name string
}

// Search lists the applications of a user. An application that does not exist any more has no name.
func (g Apps) Search(
	ctx context.Context, u domain.Subject, p search.Page,
) (search.List[Application], error) {
	found, err := g.Store.AuthorizedApps(ctx, u, p)
	if err != nil {
		return search.List[Application]{}, err
	}
	all := search.List[Application]{Total: found.Total, Processed: found.Processed, At: found.At,
		Rows: make([]Application, len(found.Rows))}
	var asked errgroup.Group
	asked.SetLimit(atOnce)
	for i, one := range found.Rows {
		asked.Go(func() error {
			c, err := g.Upstream.Application(ctx, one.ClientID, upstream.Proof{})
			if errors.Is(err, upstream.ErrNoClient) {
				err = nil
			}
			all.Rows[i] = Application{one, c.Name}
			return err
		})
	}
	return all, asked.Wait()
}

// Existing returns the applications of a user that still exist, the last login first.
func (g Apps) Existing(ctx context.Context, u domain.Subject) ([]Application, error) {
	all, err := g.Search(ctx, u, search.Page{Limit: mostThere})
	return slices.DeleteFunc(all.Rows, func(a Application) bool { return a.Name == "" }), err
}

// Revoke ends the access of an application to a user, and deletes their consent. It returns the position and time of
// the last change, and domain.ErrNotGiven if the application had no access.
func (g Apps) Revoke(ctx context.Context, userID, clientID string) (resource.Record, error) {
	agreed, err := g.Store.WithdrawConsent(ctx, userID, clientID, &authv1.ConsentWithdrawn{
		UserId: userID, ClientId: clientID,
	})
	if err != nil && !errors.Is(err, authfault.ErrConsentNotFound) {
		return resource.Record{}, err
	}
	ended, err := g.Store.RevokeApp(ctx, userID, clientID, &authv1.AuthorizationEnded{
		UserId: userID, ClientId: clientID, By: authv1.AuthorizationEnd_AUTHORIZATION_END_TAKEN_BACK,
	})
	last := ended
	if last.Sequence == 0 {
		last = agreed
	}
	if err == nil && last.Sequence == 0 {
		err = authfault.ErrAuthorizedAppNotFound
	}
	return last, err
}
