package bench_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// BenchmarkSearchBesideKeys compares the searches of an organization with those while another organization asks for
// sixty keys at once, some of which it must ask for again. Making a key takes a processor longer than many searches.
func BenchmarkSearchBesideKeys(b *testing.B) {
	const keys, rounds, turn, want = 60, 4, time.Second, 2.0
	s := whole.Start(b, "HERALD_LOG_LEVEL=WARN")
	c := newClient(1)
	search := func() error {
		return c.send(http.MethodPost, s.URL+"/management/v1/users/_search", s.Token, `{}`)
	}
	load(b, 1, turn, search) // warms up
	s.Org = made(s, "/management/v1/orgs", `{"name":"Keys"}`, "id")
	var alone, beside []time.Duration
	for round := range rounds {
		machine := fmt.Sprintf(`{"userName":"ci%d","name":"CI"}`, round)
		path := "/management/v1/users/" + made(s, "/management/v1/users/machine", machine, "userId") + "/keys"
		_, times := load(b, 1, turn, search)
		alone = append(alone, times...)
		var asked sync.WaitGroup
		for range keys {
			asked.Go(func() {
				status, answer, err := s.Try("POST", path, `{"type":"KEY_TYPE_JSON"}`)
				if err != nil || status != http.StatusOK && status != http.StatusTooManyRequests {
					b.Errorf("%d %v %v", status, answer, err)
				}
			})
		}
		_, times = load(b, 1, turn, search)
		beside = append(beside, times...)
		asked.Wait()
	}
	slices.Sort(alone)
	slices.Sort(beside)
	before, now := alone[len(alone)/2], beside[len(beside)/2]
	growth := float64(now) / float64(before)
	fmt.Printf("search beside %d keys: p50 %s, alone %s: %.1f times, p99 %s and %s\n", keys, short(now), short(before),
		growth, short(beside[len(beside)*99/100]), short(alone[len(alone)*99/100]))
	b.ReportMetric(growth, "growth")
	if growth > want {
		fallsShort(b, "searches beside %d keys take %.1f times as long, want %.0f times", keys, growth, want)
	}
}
