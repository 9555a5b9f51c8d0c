// Package api answers the requests of the Users service.
package api

import (
	"context"
	"net/url"
	"time"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/permission"
	"herald/shared/secret"
)

// Users implements the contract.
type Users struct {
	Store     store.Store
	Passwords *password.Hasher
	Codes     domain.Coder
	Keys      secret.Keys
	// Projects knows which projects there are.
	Projects projectsv1.ProjectsClient
	Now      func() time.Time
	// PublicURL is where browsers reach the system.
	PublicURL *url.URL
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

var _ usersv1.UsersServer = Users{}

// orgID is the organization that the request acts on.
func orgID(ctx context.Context) string { return caller.From(ctx).OrganizationID }

// mayActOn refuses callers who lack a permission that the user of the organization acted
// on has, wherever it is: acting on somebody's credentials is acting as them. Of users
// elsewhere it says nothing, so that they look like missing ones.
func (u Users) mayActOn(ctx context.Context, userID string) error {
	c := caller.From(ctx)
	if userID == c.UserID {
		return nil
	}
	members, err := u.Store.Memberships(ctx, c.UserID, c.OrganizationID, userID)
	if err != nil {
		return err
	}
	var mine, theirs []permission.Membership
	for _, m := range members {
		if m.UserID == userID {
			theirs = append(theirs, m.Membership())
		} else {
			mine = append(mine, m.Membership())
		}
	}
	if !permission.Covers(mine, theirs) {
		return domain.ErrEscalation
	}
	return nil
}
