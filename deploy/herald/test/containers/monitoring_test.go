//go:build compose

package containers_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
)

// monitoring runs the command of the guide to monitoring. Prometheus then sees each service, and has the alerts. Later
// steps have the settings that the guide names, so that they stop and remove Prometheus too.
func (p *project) monitoring() {
	for _, s := range whole.Steps(p.T, "docs/monitoring.md") {
		p.run("bash", "-euc", s.Command)
	}
	p.Env = append(p.Env, "COMPOSE_PROFILES=monitoring", "HERALD_OPS_LISTEN=0.0.0.0:9090")
	var seen struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	want := slices.Sorted(slices.Values(append(services.Names(), "gateway")))
	p.await(func() bool {
		p.query("/api/v1/query?query=up==1", &seen)
		up := map[string]bool{}
		for _, r := range seen.Data.Result {
			up[r.Metric["process"]] = true
		}
		return slices.Equal(slices.Sorted(maps.Keys(up)), want)
	}, &seen)
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health string }
			}
		}
	}
	p.await(func() bool {
		p.query("/api/v1/rules", &rules)
		return len(rules.Data.Groups) == 1 && !slices.ContainsFunc(rules.Data.Groups[0].Rules,
			func(r struct{ Name, Health string }) bool { return r.Health != "ok" })
	}, &rules)
}

// query reads an answer of Prometheus.
func (p *project) query(path string, answer any) {
	p.T.Helper()
	r, err := http.Get("http://" + p.prometheus + path)
	if err != nil {
		p.T.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(answer); err != nil {
		p.T.Fatal(err)
	}
}

// await waits until Prometheus, which asks the services every 15 s, has seen something. It fails the test with what was
// seen last.
func (p *project) await(there func() bool, seen any) {
	p.T.Helper()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 120 {
		if there() {
			return
		}
		<-tick.C
	}
	p.T.Fatalf("a minute later Prometheus has seen %+v", seen)
}
