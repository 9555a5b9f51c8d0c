package discovery

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The keys are ready-made bytes: serving them costs what a handler that writes them costs.
func BenchmarkKeys(b *testing.B) {
	mux := http.NewServeMux()
	keys := []byte(strings.Repeat("k", 1200)) // four of them
	Mount(mux, nil, func(context.Context) ([]byte, bool) { return keys, true })
	r := httptest.NewRequest("GET", KeysPath, nil)
	w := unwritten{http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		mux.ServeHTTP(w, r)
	}
}

// unwritten is an http.ResponseWriter that forgets what it gets.
type unwritten struct{ header http.Header }

func (u unwritten) Header() http.Header       { return u.header }
func (unwritten) WriteHeader(int)             {}
func (unwritten) Write(b []byte) (int, error) { return len(b), nil }
