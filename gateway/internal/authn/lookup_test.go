package authn_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"herald/gateway/internal/testworld"
	"herald/shared/contract"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/queue"
	"herald/shared/secret"
)

// A flood of invented tokens, or of organizations that do not exist, does not delay the requests that resolve other
// tokens. Requests with a known token queue by organization, all others by client address.
func TestFloodOfLookups(t *testing.T) {
	t.Parallel()
	for name, headers := range map[string]func(own string, n int) []string{
		"tokens": func(string, int) []string { return testworld.As(secret.PersonalAccessToken.New().Reveal()) },
		"organizations": func(own string, n int) []string {
			return testworld.As(own, "X-Service-Orgid", fmt.Sprint("nowhere", n))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.Start(t)
			victim, own := w.Owner(), w.Token("flooder", []string{"ORG_OWNER"}, "openid", contract.Audience)
			w.Move(own, "o2")
			const path = "/management/v1/users/u1"
			w.Do(t, "GET", path, "", testworld.As(victim)...).OK(t)
			w.Do(t, "GET", path, "", testworld.As(own)...).OK(t)
			// flood returns how many questions of the flood were asked at once, and the longest time in which the
			// victim asked nothing: after a second without others a flood has all. A question counts for 250 ms.
			flood := func() (atOnce int, pause time.Duration) {
				began := time.Now()
				defer func() { atOnce -= int(time.Since(began) / queue.LongCall) }()
				entered, release := make(chan struct{}, 50), make(chan struct{})
				hook := func(r *usersv1.ResolveTokenRequest) {
					if !bytes.Equal(r.TokenHash, secret.Hash(victim)) {
						entered <- struct{}{}
						<-release
					}
				}
				ask := func(n int) {
					w.Do(t, "GET", path, "", testworld.As(victim, "X-Service-Orgid", fmt.Sprint(n))...)
				}
				ask(-1)
				w.Resolving.Store(&hook)
				defer w.Resolving.Store(nil)
				var requests sync.WaitGroup
				defer requests.Wait()
				defer close(release)
				for n := range cap(entered) {
					requests.Go(func() { w.Do(t, "GET", path, "", headers(own, n)...) })
				}
				for last, n := time.Now(), 0; n < 20; n++ {
					ask(n)
					pause, last = max(pause, time.Since(last)), time.Now()
				}
				return len(entered), pause
			}
			for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
				atOnce, pause := flood()
				if pause > time.Second/2 {
					continue
				}
				if want := max(queue.Processors()/2, 1); atOnce > want {
					t.Errorf("%d questions of the flood were asked at once, want %d", atOnce, want)
				}
				return
			}
			t.Error("the machine is too slow")
		})
	}
}

// If the service that knows a token does not answer, all requests with it are refused after 5 s, not only the one that
// asked. The others wait for the same answer, and do not ask again.
func TestNobodyWaitsTwiceForAnAnswer(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	token := w.Owner()
	asked := make(chan struct{}, 10)
	hook := func(*usersv1.ResolveTokenRequest) { asked <- struct{}{} }
	w.Resolving.Store(&hook)
	defer w.Hold()()
	var requests sync.WaitGroup
	ask := func() {
		began := time.Now()
		w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(token)...).Refused(t, 503, "UNAVAILABLE")
		if took := time.Since(began); took > 8*time.Second { // 5 s, and what a busy machine needs; 10 s if asked twice
			t.Errorf("refused only after %s", took)
		}
	}
	requests.Go(ask)
	<-asked
	for range 4 {
		requests.Go(ask)
	}
	requests.Wait()
}
