package connect_test

import (
	"testing"

	"google.golang.org/grpc/metadata"

	"herald/gateway/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func BenchmarkGRPC(b *testing.B) {
	w := testworld.Start(b)
	users := usersv1.NewUsersClient(w.Dial(b))
	ctx := metadata.AppendToOutgoingContext(b.Context(), "authorization", "Bearer "+w.Owner())
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := users.GetUser(ctx, &usersv1.GetUserRequest{UserId: "u1"}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}
