// Package base is what the services of the contract have in common.
package base

import (
	"context"
	"net/url"
	"time"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	idpv1 "herald/shared/gen/herald/idp/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/search"
	"herald/shared/secret"
)

// Base is embedded in the implementation of each service.
type Base struct {
	Store     store.Store
	Passwords *password.Hasher
	Codes     domain.Coder
	Lasting   domain.Lasting
	Keys      secret.Keys
	// Idps calls the service idp.
	Idps idpv1.IdpsClient
	Now  func() time.Time
	// PublicURL is the address that browsers use.
	PublicURL *url.URL
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

var _ rpc.Guard = Base{}

// OrgID is the organization that the request acts on.
func OrgID(ctx context.Context) string { return caller.From(ctx).OrganizationID }

// PageOf returns the requested page of a list that belongs to a user, or a fault if the user does
// not exist.
func (b Base) PageOf(ctx context.Context, orgID, userID string, q *heraldv1.ListQuery) (search.Page, error) {
	p, err := search.Bounds(q, b.MaxLimit)
	if err != nil {
		return search.Page{}, err
	}
	_, err = b.Store.User(ctx, orgID, userID)
	return p, err
}

// MayActOn implements rpc.Guard: the store checks the escalation rule when it changes the user. Before
// costly work it is checked here too.
func (b Base) MayActOn(ctx context.Context, target *caller.Target) error {
	target.LeaveToChange()
	if !target.Costly {
		return nil
	}
	theirs, err := b.Store.MembershipsOf(ctx, OrgID(ctx), []string{target.UserID})
	if err != nil {
		return err
	}
	return Covers(ctx, theirs...)
}

// Covers returns a fault if the caller lacks a permission of members, whom the caller would make, change or act on.
func Covers(ctx context.Context, members ...domain.Member) error {
	return domain.CheckEscalation(caller.From(ctx).Memberships, OrgID(ctx), members...)
}
