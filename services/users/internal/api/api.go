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
	idpv1 "herald/shared/gen/herald/idp/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/search"
	"herald/shared/secret"
)

// Users implements the contract.
type Users struct {
	Store     store.Store
	Passwords *password.Hasher
	Codes     domain.Coder
	Lasting   domain.Lasting
	Keys      secret.Keys
	Pairs     *secret.Pairs
	// Projects calls the service projects.
	Projects projectsv1.InternalClient
	// Idps calls the service idp.
	Idps idpv1.IdpsClient
	Now  func() time.Time
	// PublicURL is the address that browsers use.
	PublicURL *url.URL
	// OTPIssuer is the name of the system in authenticator apps.
	OTPIssuer string
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

var (
	_ usersv1.UsersServer = Users{}
	_ rpc.Guard           = Users{}
)

// orgID is the organization that the request acts on.
func orgID(ctx context.Context) string { return caller.From(ctx).OrganizationID }

// pageOf returns the requested page of a list that belongs to a user, or a fault if the user does
// not exist.
func (u Users) pageOf(ctx context.Context, orgID, userID string, q *heraldv1.ListQuery) (search.Page, error) {
	p, err := search.Bounds(q, u.MaxLimit)
	if err != nil {
		return search.Page{}, err
	}
	_, err = u.Store.User(ctx, orgID, userID)
	return p, err
}

// MayActOn implements rpc.Guard: the store checks the escalation rule when it changes the user. Before
// costly work it is checked here too.
func (u Users) MayActOn(ctx context.Context, target *caller.Target) error {
	target.LeaveToChange()
	if !target.Costly {
		return nil
	}
	theirs, err := u.Store.MembershipsOf(ctx, orgID(ctx), []string{target.UserID})
	if err != nil {
		return err
	}
	return covers(ctx, theirs...)
}

// covers returns a fault if the caller lacks a permission of members, whom the caller would make, change or act on.
func covers(ctx context.Context, members ...domain.Member) error {
	return domain.CheckEscalation(caller.From(ctx).Memberships, orgID(ctx), members...)
}
