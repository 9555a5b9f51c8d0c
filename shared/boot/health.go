package boot

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// CheckLimit is how long a check of /readyz may take.
const CheckLimit = 2 * time.Second

// Health records whether a process is ready for requests, and if not, why.
type Health struct {
	mu     sync.Mutex
	checks map[string]func(context.Context) error
}

// NewHealth returns a Health without checks.
func NewHealth() *Health { return &Health{checks: map[string]func(context.Context) error{}} }

// Check adds a named check. The process is ready if no check returns an error.
func (h *Health) Check(name string, check func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks[name] = check
}

// Starting marks the process as not ready until Started is called.
func (h *Health) Starting() {
	h.Check("start", func(context.Context) error { return errors.New("starting") })
}

// Started ends the effect of Starting.
func (h *Health) Started() { h.Check("start", func(context.Context) error { return nil }) }

// Causes returns why the process is not ready, by the names of the checks. The map is empty if the process is ready.
// A check that does not return within 2 s counts as failed.
func (h *Health) Causes(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, CheckLimit)
	defer cancel()
	h.mu.Lock()
	checks := maps.Clone(h.checks)
	h.mu.Unlock()
	type result struct {
		name string
		err  error
	}
	results := make(chan result, len(checks))
	causes := map[string]string{}
	for name, check := range checks {
		causes[name] = "no answer"
		go func() { results <- result{name, check(ctx)} }()
	}
	for range checks {
		select {
		case r := <-results:
			delete(causes, r.name)
			if r.err != nil {
				causes[r.name] = r.err.Error()
			}
		case <-ctx.Done():
			return causes
		}
	}
	return causes
}

// Live always answers 200, which shows that the process runs.
func (h *Health) Live(w http.ResponseWriter, _ *http.Request) { writeHealth(w, http.StatusOK, "ok") }

// Ready answers 200, or 503 with the names of the failed checks. Everybody can read this answer, so the reasons are
// only on the operator's port.
func (h *Health) Ready(w http.ResponseWriter, r *http.Request) {
	causes := h.Causes(r.Context())
	if len(causes) == 0 {
		writeHealth(w, http.StatusOK, "ok")
		return
	}
	writeHealth(w, http.StatusServiceUnavailable, slices.Sorted(maps.Keys(causes)))
}

// together merges checks that fail for the same reason into one entry with all their names.
func together(causes map[string]string) map[string]string {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(causes)) {
		names[causes[name]] = append(names[causes[name]], name)
	}
	reasons := map[string]string{}
	for reason, all := range names {
		reasons[strings.Join(all, ", ")] = reason
	}
	return reasons
}

// readiness is a collector of the checks, because a monitor that reads /metrics does not ask /readyz.
type readiness struct {
	*Health
	ready *prometheus.Desc
}

func newReadiness(h *Health) readiness {
	return readiness{h, prometheus.NewDesc("herald_ready", "Whether a check of /readyz succeeds, 1 or 0.",
		[]string{"check"}, nil)}
}

func (r readiness) Describe(ch chan<- *prometheus.Desc) { ch <- r.ready }

func (r readiness) Collect(ch chan<- prometheus.Metric) {
	r.mu.Lock()
	names := slices.Collect(maps.Keys(r.checks))
	r.mu.Unlock()
	causes := r.Causes(context.Background())
	for _, name := range names {
		ready := 1.0
		if _, failed := causes[name]; failed {
			ready = 0
		}
		ch <- prometheus.MustNewConstMetric(r.ready, prometheus.GaugeValue, ready, name)
	}
}

func writeHealth(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"status": body})
}

// Ops returns the handler of the operator's port. It has metrics, liveness, readiness with reasons, and profiles.
func (h *Health) Ops(metrics *prometheus.Registry) http.Handler {
	metrics.MustRegister(newReadiness(h))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /livez", h.Live)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if causes := h.Causes(r.Context()); len(causes) > 0 {
			writeHealth(w, http.StatusServiceUnavailable, together(causes))
			return
		}
		writeHealth(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return mux
}
