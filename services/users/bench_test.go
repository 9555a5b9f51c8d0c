package users_test

import (
	"fmt"
	"sync/atomic"
	"testing"
)

// BenchmarkImport is the service's own share of an import: NATS, middleware, checks
// and one statement.
func BenchmarkImport(b *testing.B) {
	w := newWorld(b)
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := minimal(fmt.Sprint("user-", n.Add(1)))
			r.Email.IsEmailVerified, r.HashedPassword = true, hashed(someHash)
			if _, err := w.gateway.ImportHumanUser(w.admin, r); err != nil {
				b.Error(err)
			}
		}
	})
}
