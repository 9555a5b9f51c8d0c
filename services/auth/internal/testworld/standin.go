package testworld

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/testkit"
)

// Handler returns the answer to a request, by the type of the request. It returns nil for a method that it lacks.
type Handler func(ctx context.Context, request proto.Message) (proto.Message, error)

// Serve stands in for another service, with the methods of some contracts.
func Serve(
	t testing.TB, g boot.Ground, service string, answer Handler, contracts ...*grpc.ServiceDesc,
) testkit.Server {
	t.Helper()
	ask := func(ctx context.Context, r any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
		a, err := answer(ctx, r.(proto.Message))
		if a == nil && err == nil {
			return nil, status.Error(codes.Unimplemented, info.FullMethod)
		}
		return a, err
	}
	for i, c := range contracts {
		stand := grpc.ServiceDesc{ServiceName: c.ServiceName, HandlerType: (*any)(nil), Metadata: c.Metadata}
		for _, m := range c.Methods {
			of := m.Handler
			m.Handler = func(
				_ any, ctx context.Context, read func(any) error, _ grpc.UnaryServerInterceptor,
			) (any, error) {
				return of(nil, ctx, read, ask)
			}
			stand.Methods = append(stand.Methods, m)
		}
		contracts[i] = &stand
	}
	return testkit.Serve(t, g, service, testkit.Unguarded{}, contracts...)
}
