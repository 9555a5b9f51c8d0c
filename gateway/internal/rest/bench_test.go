package rest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"herald/gateway/internal/testworld"
)

// Measures the gateway alone: a service that does nothing and a cached caller, with 8 clients a core
// in the same process.
func BenchmarkREST(b *testing.B) {
	w := testworld.Start(b)
	token := w.Owner()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	for _, c := range []struct{ name, method, path, body string }{
		{"read", "GET", "/management/v1/users/u1", ""},
		{"search", "POST", "/management/v1/users/_search",
			`{"query":{"limit":50},"queries":[{"userNameQuery":{"userName":"alice",` +
				`"method":"TEXT_QUERY_METHOD_CONTAINS"}}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetParallelism(8)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequestWithContext(b.Context(), c.method, w.URL+c.path, strings.NewReader(c.body))
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("Authorization", "Bearer "+token)
					response, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, response.Body)
					response.Body.Close()
					if response.StatusCode != 200 {
						b.Errorf("status %d", response.StatusCode)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
