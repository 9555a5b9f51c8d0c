package dispatch_test

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
	"herald/shared/caller"
	"herald/shared/queue"
)

// twoOrganizations returns a world in which somebody is a member of o1 and o2, and what sends that member's request to
// one of them.
func twoOrganizations(t *testing.T) (w *testworld.World, get func(organization string)) {
	t.Helper()
	w = testworld.Start(t)
	token := w.Owner()
	w.Join(token, "o2")
	return w, func(organization string) {
		r := w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token, "X-Service-Orgid", organization)...)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", organization, r.StatusCode, r.Text)
		}
	}
}

// While requests of another organization come, a flood has half of the processors; the others of its requests wait, and
// the other organization's do not.
func TestFloodTakesTurns(t *testing.T) {
	t.Parallel()
	w, get := twoOrganizations(t)
	// flood returns how many of the flood's requests were worked on, in what time, and the longest time in which the
	// other organization sent nothing: after a second without others a flood has all.
	flood := func() (worked int, took, pause time.Duration) {
		began := time.Now()
		entered, release := make(chan struct{}, 50), make(chan struct{})
		w.FailWith(func(ctx context.Context) error {
			if caller.From(ctx).OrganizationID == "o1" {
				entered <- struct{}{}
				<-release
			}
			return nil
		})
		get("o2")
		var requests sync.WaitGroup
		defer requests.Wait()
		defer close(release)
		for range cap(entered) {
			requests.Go(func() { get("o1") })
		}
		last := time.Now()
		select {
		case <-entered:
			worked++
		case <-time.After(20 * time.Second):
			t.Error("no request of the flood was worked on")
		}
		for range 20 {
			get("o2")
			pause, last = max(pause, time.Since(last)), time.Now()
		}
		return worked + len(entered), time.Since(began), pause
	}
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		worked, took, pause := flood()
		if pause > time.Second/2 && !t.Failed() {
			continue
		}
		// A request counts in the share for a while only; others are worked on then.
		want := max(queue.Processors()/2, 1) * (1 + int(took/queue.LongCall))
		if worked > want {
			t.Errorf("%d requests of the flood were worked on within %s, want %d", worked, took, want)
		}
		return
	}
	t.Error("the machine is too slow")
}

// A request that is stuck in a service does not hold up the others of its organization, also while another
// organization sends some.
func TestStuckRequestDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	w, get := twoOrganizations(t)
	var first atomic.Bool
	entered, release := make(chan struct{}), make(chan struct{})
	w.FailWith(func(ctx context.Context) error {
		if caller.From(ctx).OrganizationID == "o1" && first.CompareAndSwap(false, true) {
			close(entered)
			<-release
		}
		return nil
	})
	var requests sync.WaitGroup
	get("o2")
	requests.Go(func() { get("o1") })
	<-entered
	stop := make(chan struct{})
	requests.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				get("o2")
			}
		}
	})
	for range 3 {
		get("o1")
	}
	close(stop)
	close(release)
	requests.Wait()
}
