package faults_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/secret"
)

// mostLookup is how long 95 % of the requests of others take at most while tokens are invented, beyond what a hash of a
// password takes on this machine then.
const mostLookup = 250 * time.Millisecond

// invent sends a request with a token that does not exist.
func (a *attack) invent(int64) (string, error) {
	c := a.client
	c.token = secret.PersonalAccessToken.New().Reveal()
	return c.send("GET", usersPath+"flood-user", "")
}

// wander sends a request for an organization that does not exist.
func (a *attack) wander(n int64) (string, error) {
	c := a.client
	c.org = fmt.Sprint("nowhere-", n)
	return c.send("GET", usersPath+"flood-user", "")
}

// A flood of tokens and organizations that do not exist does not delay callers who have a token. Without -flood the
// bound is so wide that the test fails only if the flood stops others.
func TestFloodOfInventedTokens(t *testing.T) { // not parallel: it measures times
	during, most := 3*time.Second, 30*time.Second
	if *flood > 0 {
		during, most = *flood, mostLookup
	}
	i := whole.Start(t, "HERALD_LOG_LEVEL=WARN")
	i.Must("POST", usersPath+"human/_import", whole.Active("quiet"))
	v := &victim{Instance: i, client: newClient(i.URL, i.Token)}
	a := newAttack(t, i)
	a.kinds = []*kind{
		{name: "invented tokens", clients: 64, send: a.invent, refused: "401"},
		{name: "unknown organizations", clients: 64, send: a.wander, refused: "403"},
	}
	flooded := map[string][]time.Duration{}
	v.work(time.Second, map[string][]time.Duration{}) // the first requests are slower
	stop := a.begin()
	defer stop()
	v.work(during, flooded)
	stop()
	slices.Sort(flooded[floor])
	most += flooded[floor][len(flooded[floor])*95/100]
	for name, times := range flooded {
		slices.Sort(times)
		p50, p95 := times[len(times)/2], times[len(times)*95/100]
		t.Logf("%s: p50 %s, p95 %s", name, short(p50), short(p95))
		if p95 > most {
			t.Errorf("%s takes %s, want %s", name, short(p95), most)
		}
	}
	t.Log(a)
	for _, k := range a.kinds {
		if k.answered.Load() == 0 {
			t.Errorf("no request of %s was answered", k.name)
		}
	}
}
