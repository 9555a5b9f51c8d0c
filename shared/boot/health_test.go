package boot_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/shared/boot"
)

func TestHealthCauses(t *testing.T) {
	t.Parallel()
	h := boot.NewHealth()
	want := func(want map[string]string) {
		t.Helper()
		if got := h.Causes(t.Context()); !maps.Equal(got, want) {
			t.Errorf("causes %v, want %v", got, want)
		}
	}
	want(map[string]string{})
	h.Starting()
	h.Check("fine", func(context.Context) error { return nil })
	h.Check("broken", func(context.Context) error { return errors.New("gone") })
	want(map[string]string{"start": "starting", "broken": "gone"})
	h.Started()
	want(map[string]string{"broken": "gone"})
	h.Check("broken", func(context.Context) error { return nil })
	want(map[string]string{})
}

// Checks run in parallel and have 2 s, also those that ignore their context.
func TestHealthTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := boot.NewHealth()
		h.Check("deaf", func(context.Context) error { <-release; return nil })
		h.Check("patient", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		for i := range 20 {
			h.Check(fmt.Sprint("slow ", i), func(context.Context) error {
				<-time.After(time.Second)
				return fmt.Errorf("slow")
			})
		}
		start := time.Now()
		got := h.Causes(t.Context())
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("answered after %v", took)
		}
		if len(got) != 22 || got["deaf"] != "no answer" || got["patient"] == "" || got["slow 7"] != "slow" {
			t.Errorf("%v", got)
		}
		close(release)
	})
}

func TestHealthConcurrently(t *testing.T) {
	t.Parallel()
	h := boot.NewHealth()
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { h.Check(fmt.Sprint(i), func(context.Context) error { return errors.New("x") }) })
		all.Go(func() { h.Causes(t.Context()) })
	}
	all.Wait()
	if n := len(h.Causes(t.Context())); n != 20 {
		t.Errorf("%d causes", n)
	}
}

// The public answer names the checks that fail; only the operator's port says why.
func TestHealthOverHTTP(t *testing.T) {
	t.Parallel()
	h, metrics := boot.NewHealth(), prometheus.NewRegistry()
	metrics.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "herald_test_total", Help: "test"}))
	ops := h.Ops(metrics)
	get := func(handler http.Handler, method, path string, status int, holds string) {
		t.Helper()
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != status || !strings.Contains(w.Body.String(), holds) {
			t.Errorf("%s %s: %d %s, want %d with %s", method, path, w.Code, w.Body, status, holds)
		}
		if strings.HasSuffix(path, "z") && status != http.StatusMethodNotAllowed &&
			(w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store") {
			t.Errorf("%s: %v", path, w.Header())
		}
	}
	get(http.HandlerFunc(h.Ready), "GET", "/readyz", 200, `{"status":"ok"}`)
	get(ops, "GET", "/readyz", 200, `{"status":"ok"}`)
	h.Check("users database", func(context.Context) error { return errors.New("no route to 10.0.0.1") })
	h.Check("a NATS", func(context.Context) error { return errors.New("not connected") })
	get(http.HandlerFunc(h.Ready), "GET", "/readyz", 503, `{"status":["a NATS","users database"]}`)
	get(ops, "GET", "/readyz", 503, `{"status":{"a NATS":"not connected","users database":"no route to 10.0.0.1"}}`)
	h.Check("text NATS", func(context.Context) error { return errors.New("not connected") })
	get(ops, "GET", "/readyz", 503,
		`{"status":{"a NATS, text NATS":"not connected","users database":"no route to 10.0.0.1"}}`)
	get(http.HandlerFunc(h.Live), "GET", "/livez", 200, `{"status":"ok"}`)
	get(ops, "GET", "/livez", 200, `{"status":"ok"}`)
	get(ops, "GET", "/metrics", 200, "herald_test_total 0")
	h.Check("well", func(context.Context) error { return nil })
	get(ops, "GET", "/metrics", 200, `herald_ready{check="users database"} 0`)
	get(ops, "GET", "/metrics", 200, `herald_ready{check="well"} 1`)
	get(ops, "GET", "/debug/pprof/goroutine?debug=1", 200, "goroutine profile")
	get(ops, "GET", "/debug/pprof/cmdline", 404, "")
	get(ops, "POST", "/readyz", 405, "")
	get(ops, "GET", "/", 404, "")
}
