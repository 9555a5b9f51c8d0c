package gateway

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"herald/shared/contract"
)

// mountMeta adds reflection and the health service, which tools ask gRPC servers for without a
// token.
func (e *edge) mountMeta(services []string) error {
	reflected := append(services, healthpb.Health_ServiceDesc.ServiceName)
	files, err := published(reflected)
	if err != nil {
		return err
	}
	reflector := grpcreflect.NewReflector(grpcreflect.NamerFunc(func() []string { return reflected }),
		grpcreflect.WithDescriptorResolver(files))
	limits := []connect.HandlerOption{uncompressed, connect.WithReadMaxBytes(maxBody),
		connect.WithInterceptors(reflecting{})}
	for _, mount := range []func(*grpcreflect.Reflector, ...connect.HandlerOption) (string, http.Handler){
		grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha,
	} {
		prefix, h := mount(reflector, limits...)
		e.mountProcedure(prefix+"ServerReflectionInfo", anybody(h, "application/grpc", "application/connect"))
	}
	check := func(ctx context.Context, r *connect.Request[healthpb.HealthCheckRequest]) (
		*connect.Response[healthpb.HealthCheckResponse], error) {
		if r.Msg.Service != "" && !slices.Contains(services, r.Msg.Service) {
			return nil, rpcError(exchangeOf(ctx).refuse(contract.ErrNotFound))
		}
		status := healthpb.HealthCheckResponse_SERVING
		if len(e.health.Causes(ctx)) > 0 {
			status = healthpb.HealthCheckResponse_NOT_SERVING
		}
		return connect.NewResponse(&healthpb.HealthCheckResponse{Status: status}), nil
	}
	health := connect.NewUnaryHandler(healthpb.Health_Check_FullMethodName, check, uncompressed)
	e.mountProcedure(healthpb.Health_Check_FullMethodName, func(x *exchange, r *http.Request) {
		x.quiet = true
		if err := readCall(x, r); err != nil {
			x.fail(r, err)
			return
		}
		health.ServeHTTP(x, r)
	})
	return nil
}

// anybody serves h without a token. The request's media type must begin with one of types.
func anybody(h http.Handler, types ...string) handler {
	return func(x *exchange, r *http.Request) {
		x.quiet = true
		if t := mediaType(r); !slices.ContainsFunc(types, func(p string) bool { return strings.HasPrefix(t, p) }) {
			x.fail(r, ErrMediaType)
			return
		}
		h.ServeHTTP(x, r)
	}
}
