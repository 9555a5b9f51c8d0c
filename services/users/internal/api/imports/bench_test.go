package imports_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"herald/services/users/internal/testworld"
)

// BenchmarkImport measures the service's part of an import: NATS, middleware, checks and one
// statement.
func BenchmarkImport(b *testing.B) {
	w := testworld.New(b)
	var n atomic.Int64
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r := testworld.Minimal(fmt.Sprint("user-", n.Add(1)))
			r.Email.IsEmailVerified, r.HashedPassword = true, testworld.Hashed(testworld.SomeHash)
			if _, err := w.Gateway.ImportHumanUser(w.Admin, r); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkImportUsers measures the service's part of a bulk import: a request with a thousand
// users.
func BenchmarkImportUsers(b *testing.B) {
	w := testworld.New(b)
	n := 0
	for b.Loop() {
		b.StopTimer()
		r := testworld.Bulk(w.OrgID)
		for range 1000 {
			n++
			r.DataOrgs.Orgs[0].HumanUsers = append(r.DataOrgs.Orgs[0].HumanUsers, row(fmt.Sprint("user-", n)))
		}
		b.StartTimer()
		if got, err := w.Gateway.ImportUsers(w.Admin, r); err != nil || len(got.Errors) > 0 {
			b.Fatal(err, got.GetErrors())
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "users/s")
}
