package documents_test

import (
	"slices"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
)

// A client that has the document, or sends HEAD, gets an answer without a body.
func TestHeadsOfDocumentsAreCheap(t *testing.T) { // not parallel: it measures time
	w := testworld.Start(t)
	tag := w.Do(t, "GET", "/docs/viewer/redoc.js", "").OK(t).Header.Get("Etag")
	for _, c := range []struct {
		method, encoding, tag string
		status                int
	}{
		{"HEAD", "identity", "", 200}, {"HEAD", "gzip", "", 200},
		{"GET", "identity", tag, 304}, {"GET", "gzip", tag, 304},
	} {
		median := func() time.Duration {
			took := make([]time.Duration, 200)
			for i := range took {
				began := time.Now()
				got := w.Do(t, c.method, "/docs/viewer/redoc.js", "", "Accept-Encoding", c.encoding,
					"If-None-Match", c.tag)
				if got.StatusCode != c.status || len(got.Text) > 0 || c.status == 200 && got.ContentLength < 100_000 {
					t.Fatalf("%s: %d %v", c.method, got.StatusCode, got.Header)
				}
				took[i] = time.Since(began)
			}
			slices.Sort(took)
			return took[len(took)/2]
		}
		most := median()
		for range 50 { // other processes may use the machine at the same time
			if most <= time.Millisecond {
				break
			}
			most = min(most, median())
		}
		t.Logf("%s with %s: %v", c.method, c.encoding, most)
		if most > time.Millisecond {
			t.Errorf("%s with %s takes %v", c.method, c.encoding, most)
		}
	}
}
