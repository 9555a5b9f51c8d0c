// Package cluster_test kills the servers of a Herald that runs on three machines.
package cluster_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

var (
	kills   = flag.Int("kills", 1, "how often each NATS server is killed")
	figures = flag.Bool("figures", false, "kill each process, and not only a gateway and a service, and fail for long "+
		"outages and many failed requests; needs a quiet machine")
)

const (
	// underWay is how long before a kill a request was sent that may still be under way.
	underWay = 2 * time.Second
	// failures is the part of a minute's requests that may fail when a process with a replica is killed in it, in
	// thousandths.
	failures = 5
)

// kill is the end of a server, or another fault, under load.
type kill struct {
	name string
	at   time.Time
	// back is how long after it every new request must be answered.
	back time.Duration
	// others reports whether other servers answer meanwhile, so that few requests may fail.
	others bool
}

// Gateways and services are killed and started again, then each NATS server; machines do not reach each other for a
// while; and at last Postgres is killed, whose standby takes over, all under load. No answered write is lost, and
// everybody is served again soon.
func TestServersOfAClusterAreKilled(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Log("Patroni is tested as a package of Debian only")
		return
	}
	c := newCluster(t)
	l := newLoad(c)
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	busy.Go(func() { l.run(ctx) })
	t.Cleanup(func() { stop(); busy.Wait() })
	l.served(time.Now())
	var killed []kill
	for _, r := range c.victims() {
		killed = append(killed, kill{r.name + " is killed", time.Now(), 5 * time.Second, true})
		c.kill(r)
		l.served(time.Now())
		r.Cmd = r.run()
	}
	for _, n := range slices.Repeat(c.nodes, *kills) {
		killed = append(killed, kill{n.name + " is killed", time.Now(), 5 * time.Second, true})
		c.Kill(n.name)
		l.served(time.Now())
		c.startNode(n)
		c.healthy(n)
	}
	for _, p := range c.partitions() {
		killed = append(killed, kill{p.String(), time.Now(), apart + 20*time.Second, false})
		mend := p.cut(t, c.network)
		<-time.After(apart) // how long the machines do not reach each other is the test's subject
		mend()
		killed = append(killed, kill{"the end of: " + p.String(), time.Now(), 20 * time.Second, false})
		l.served(time.Now())
		c.postgres.complete()
	}
	killed = append(killed, kill{"Postgres is killed", time.Now(), 20 * time.Second, false})
	t.Logf("the standby took over within %s", c.postgres.failOver().Round(time.Millisecond))
	l.served(time.Now())
	stop()
	busy.Wait()
	for i, k := range killed {
		next := time.Now()
		if i+1 < len(killed) {
			next = killed[i+1].at.Add(-underWay)
		}
		l.judge(k, next)
	}
	l.complete()
}

// victims returns the processes that are killed.
func (c *cluster) victims() []*replica {
	if *figures {
		return c.replicas
	}
	last := len(c.replicas) - 1
	return []*replica{c.replicas[last], c.replicas[rand.IntN(last)]} // a gateway, and any other one
}

// apart is how long machines do not reach each other. Connections are given up by then, and a primary that does not
// reach etcd has a successor.
const apart = 25 * time.Second

// partition is that the packets of one machine do not reach another one, nor back if it is mutual.
type partition struct {
	from, to int
	mutual   bool
}

// partitions returns those that are tried.
func (c *cluster) partitions() (all []partition) {
	if c.network.spaces == nil {
		c.T.Log("machines are not parted, which takes root and the command ip")
		return nil
	}
	if !*figures {
		return []partition{{0, 1, true}}
	}
	for a := range c.network.machines {
		for b := range a {
			all = append(all, partition{b, a, true}, partition{b, a, false}, partition{a, b, false})
		}
	}
	return all
}

func (p partition) String() string {
	if p.mutual {
		return fmt.Sprintf("machines %d and %d do not reach each other", p.from+1, p.to+1)
	}
	return fmt.Sprintf("machine %d does not reach %d", p.from+1, p.to+1)
}

func (p partition) cut(t *testing.T, n network) (mend func()) {
	t.Helper()
	mends := []func(){n.cut(t, p.from, p.to)}
	if p.mutual {
		mends = append(mends, n.cut(t, p.to, p.from))
	}
	return func() {
		for _, mend := range mends {
			mend()
		}
	}
}

// judge logs how many requests failed around a kill, and for how long. With the flag it fails the test if that is too
// much: on a machine with other work the numbers say nothing of the cluster.
func (l *load) judge(k kill, next time.Time) {
	l.T.Helper()
	_, before, _, _ := l.failed(k.at.Add(-underWay), k.at)
	why, after, all, last := l.failed(k.at, next)
	perMinute := 0
	for _, c := range l.clients {
		perMinute += int(time.Minute / c.pause)
	}
	l.T.Logf("%s: %d requests under way and %d of %d new ones failed, the last one sent %s after it: %v", k.name,
		before, after, all, last.Round(time.Millisecond), why)
	if !*figures {
		return
	}
	if last > k.back {
		l.T.Errorf("%s: %s later a request failed", k.name, last)
	}
	if k.others && (before+after)*1000 > perMinute*failures {
		l.T.Errorf("%s: %d requests failed, of %d in a minute", k.name, before+after, perMinute)
	}
}

// complete fails the test unless everything is there that was answered to be written.
func (l *load) complete() {
	l.T.Helper()
	there := map[string]map[string]bool{
		"users":    l.postgres.column("users", "select id from users"),
		"projects": l.postgres.column("projects", "select name from projects"),
		"tokens":   {}, "sessions": {},
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	for what, sent := range map[string]struct{ path, header, before string }{
		"tokens": {"/oidc/v1/userinfo", "Authorization", "Bearer "}, "sessions": {"/ui/account", "Cookie", ""},
	} {
		for part := range slices.Chunk(l.kept[what], 50) {
			asking.Go(func() {
				for n, kept := range part {
					r, err := http.NewRequest(http.MethodGet, l.gateways[n%2]+sent.path, http.NoBody)
					if err != nil {
						l.T.Error(err)
						return
					}
					r.Header.Set(sent.header, sent.before+kept)
					if _, _, err := l.ask(r, n, http.StatusOK); err == nil {
						mu.Lock()
						there[what][kept] = true
						mu.Unlock()
					}
				}
			})
		}
	}
	asking.Wait()
	for _, c := range l.clients[:len(there)] {
		lost := 0
		for _, kept := range l.kept[c.what] {
			if !there[c.what][kept] {
				lost++
			}
		}
		l.T.Logf("%s: %d answered, %d lost", c.what, len(l.kept[c.what]), lost)
		if lost > 0 || len(l.kept[c.what]) == 0 {
			l.T.Errorf("%d of %d %s that were answered are lost", lost, len(l.kept[c.what]), c.what)
		}
	}
	l.mailed()
	l.until("all services are ready", func(context.Context) bool { return len(l.Unready()) == 0 })
}

// mailed fails the test unless everybody whose import was answered got one mail.
func (l *load) mailed() {
	l.T.Helper()
	ctx, cancel := context.WithTimeout(l.T.Context(), patience)
	defer cancel()
	got := map[string]int{}
	without := slices.Clone(l.kept["users"])
	for read := 0; len(without) > 0; {
		mails, err := l.mails.Wait(ctx, read+1)
		if err != nil {
			l.T.Fatalf("%d of %d people got no mail: %v", len(without), len(l.kept["users"]), err)
		}
		for _, m := range mails[read:] {
			got[m.To[0]]++
		}
		read = len(mails)
		without = slices.DeleteFunc(without, func(id string) bool { return got[id+"@example.com"] > 0 })
	}
	twice := 0
	for to, n := range got {
		if n > 1 {
			twice++
			l.T.Errorf("%s got %d mails", to, n)
		}
	}
	l.T.Logf("%d people got their mail, %d twice", len(got), twice)
}
