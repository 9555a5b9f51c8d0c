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

// A flood of invented tokens, or of organizations that do not exist, leaves the others' questions who somebody is their
// room. Tokens that are known wait with their organization, and others with their client.
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
