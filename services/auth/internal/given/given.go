// Package given knows to which applications a person gave access, and takes it back.
package given

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/owners"
	"herald/services/auth/internal/store"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// atOnce is how many applications projects is asked about at a time.
const atOnce = 8

// Given is what people gave applications.
type Given struct {
	Store  store.Store
	Owners *owners.Owners
}

// Application is one to which a person gave access.
type Application struct {
	domain.Given
	Name string
}

// Applications returns those of a session's person, the last login first. Those that do not exist any more are left
// out.
func (g Given) Applications(ctx context.Context, s domain.Session) ([]Application, error) {
	found, err := g.Store.Given(ctx, s.Owner())
	if err != nil {
		return nil, err
	}
	all := make([]Application, len(found))
	var asked errgroup.Group
	asked.SetLimit(atOnce)
	for i, one := range found {
		asked.Go(func() error {
			c, err := g.Owners.Application(ctx, one.ClientID, owners.Proof{})
			if errors.Is(err, owners.ErrNoClient) {
				return nil
			}
			all[i] = Application{one, c.Name}
			return err
		})
	}
	if err := asked.Wait(); err != nil {
		return nil, err
	}
	there := all[:0]
	for _, one := range all {
		if one.ClientID != "" {
			there = append(there, one)
		}
	}
	return there, nil
}

// TakeBack ends all that a session's person gave an application, and forgets what they agreed to. It reports whether
// there was any.
func (g Given) TakeBack(ctx context.Context, s domain.Session, clientID string) (bool, error) {
	err := g.Store.WithdrawConsent(ctx, s.UserID, clientID, &authv1.ConsentWithdrawn{
		UserId: s.UserID, ClientId: clientID,
	})
	if err != nil && !errors.Is(err, domain.ErrConsentNotFound) {
		return false, err
	}
	agreed := err == nil
	some, err := g.Store.TakeBack(ctx, s.UserID, clientID, &authv1.AuthorizationEnded{
		UserId: s.UserID, ClientId: clientID, By: authv1.AuthorizationEnd_AUTHORIZATION_END_TAKEN_BACK,
	})
	return agreed || some, err
}
