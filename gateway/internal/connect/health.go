package connect

import (
	"context"
	"net/http"
	"slices"

	connectrpc "connectrpc.com/connect"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"herald/gateway/internal/exchange"
	"herald/shared/boot"
	"herald/shared/fault"
)

// HealthProcedure is the path of Health.
const HealthProcedure = healthpb.Health_Check_FullMethodName

// Health returns the handler of the health service of gRPC. It needs no token.
func Health(services []string, health *boot.Health) exchange.Handler {
	check := func(ctx context.Context, r *connectrpc.Request[healthpb.HealthCheckRequest]) (
		*connectrpc.Response[healthpb.HealthCheckResponse], error) {
		if r.Msg.Service != "" && !slices.Contains(services, r.Msg.Service) {
			return nil, connectError(exchange.From(ctx).Refuse(fault.ErrNotFound))
		}
		status := healthpb.HealthCheckResponse_SERVING
		if len(health.Causes(ctx)) > 0 {
			status = healthpb.HealthCheckResponse_NOT_SERVING
		}
		return connectrpc.NewResponse(&healthpb.HealthCheckResponse{Status: status}), nil
	}
	h := connectrpc.NewUnaryHandler(HealthProcedure, check, uncompressed)
	return func(x *exchange.Exchange, r *http.Request) {
		x.Quiet = true
		if err := readCall(x, r); err != nil {
			x.Fail(r, err)
			return
		}
		h.ServeHTTP(x, r)
	}
}
