package base

import (
	"context"
	"slices"

	"google.golang.org/grpc"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
)

// AllExpirations adds what expires in projects and idp to what expires in this service. The result is cut to the limit
// of the request.
func (b Base) AllExpirations(
	ctx context.Context, projects projectsv1.InternalClient, r *heraldv1.ReadExpirationsRequest,
	own *heraldv1.ReadExpirationsResponse,
) (*heraldv1.ReadExpirationsResponse, error) {
	all := &heraldv1.ReadExpirationsResponse{Result: own.Result, Total: own.Total}
	for _, list := range []func(
		context.Context, *heraldv1.ReadExpirationsRequest, ...grpc.CallOption,
	) (*heraldv1.ReadExpirationsResponse, error){projects.ReadExpirations, b.Idps.ReadExpirations} {
		some, err := list(rpc.OnOwnBehalf(ctx), r)
		if err != nil {
			return nil, err
		}
		all.Result, all.Total = append(all.Result, some.Result...), all.Total+some.Total
	}
	slices.SortStableFunc(all.Result, func(a, b *heraldv1.Expiration) int {
		return a.ExpirationDate.AsTime().Compare(b.ExpirationDate.AsTime())
	})
	all.Result = all.Result[:min(len(all.Result), int(r.Limit))]
	return all, nil
}
