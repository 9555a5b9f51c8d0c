package internals

import (
	"context"

	"herald/services/users/internal/api/base"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// CheckEscalation refuses a caller of another service who lacks a permission of the user whom the request acts on.
func (s Server) CheckEscalation(
	ctx context.Context, r *usersv1.CheckEscalationRequest,
) (*usersv1.CheckEscalationResponse, error) {
	c := caller.FromProto(r.Caller)
	theirs, err := s.Store.MembershipsOf(ctx, c.OrganizationID, []string{r.UserId})
	if err != nil {
		return nil, err
	}
	return &usersv1.CheckEscalationResponse{}, base.Covers(caller.With(ctx, c), theirs...)
}
