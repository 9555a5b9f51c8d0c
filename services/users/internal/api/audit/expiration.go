package audit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/api/base"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// usualDays is how far a list of expirations looks ahead if its request does not say.
const usualDays = 30

// mayRead are the permissions with which callers see that things of a kind expire.
var mayRead = map[string][]heraldv1.ExpirationKind{
	"user.read": {heraldv1.ExpirationKind_EXPIRATION_KIND_MACHINE_KEY, heraldv1.ExpirationKind_EXPIRATION_KIND_PAT,
		heraldv1.ExpirationKind_EXPIRATION_KIND_INVITATION},
	"project.app.read": {heraldv1.ExpirationKind_EXPIRATION_KIND_APPLICATION_KEY,
		heraldv1.ExpirationKind_EXPIRATION_KIND_CLIENT_SECRET},
	"iam.read":     {heraldv1.ExpirationKind_EXPIRATION_KIND_CERTIFICATE},
	"org.idp.read": {heraldv1.ExpirationKind_EXPIRATION_KIND_PROVIDER_SECRET},
}

// ListExpirations lists what of the organization acted on expires soon.
func (s Server) ListExpirations(
	ctx context.Context, r *usersv1.ListExpirationsRequest,
) (*usersv1.ListExpirationsResponse, error) {
	return s.expirations(ctx, base.OrgID(ctx), r)
}

// ListInstanceExpirations lists what of all organizations expires soon.
func (s Server) ListInstanceExpirations(
	ctx context.Context, r *usersv1.ListExpirationsRequest,
) (*usersv1.ListExpirationsResponse, error) {
	return s.expirations(ctx, "", r)
}

func (s Server) expirations(
	ctx context.Context, orgID string, r *usersv1.ListExpirationsRequest,
) (*usersv1.ListExpirationsResponse, error) {
	p, err := search.Bounds(&heraldv1.ListQuery{Limit: r.Limit}, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	now := s.Now()
	read := &heraldv1.ReadExpirationsRequest{
		OrgId: orgID, Until: timestamppb.New(now.Add(within(r.Within))), Limit: p.Limit,
	}
	for permission, kinds := range mayRead {
		if caller.From(ctx).Can(permission, "") {
			read.Kinds = append(read.Kinds, kinds...)
		}
	}
	slices.Sort(read.Kinds)
	own, err := s.Store.Expirations(ctx, now, read)
	if err != nil {
		return nil, err
	}
	all, err := s.AllExpirations(ctx, s.projects, read, own)
	return &usersv1.ListExpirationsResponse{Result: all.GetResult()}, err
}

// within returns a duration that the contract allows: a number with d for days or h for hours, or nothing.
func within(text string) time.Duration {
	const day = 24 * time.Hour
	if text == "" {
		return usualDays * day
	}
	unit := time.Hour
	if text[len(text)-1] == 'd' {
		unit = day
	}
	n, _ := strconv.Atoi(text[:len(text)-1]) // the pattern of the contract has only digits here
	return time.Duration(n) * unit
}
