// Package upgrade_test upgrades a running Herald of the previous version to this one, process by process and under
// load, and goes back again. No request may fail meanwhile.
package upgrade_test

import (
	"context"
	"flag"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

var requests = flag.Int("requests", 2_000, "how many requests are sent at least during the two upgrades")

// replica is one of the two processes of a service, or of the gateway.
type replica struct {
	service string
	*exec.Cmd
	gateway *gateway // nil for a service
}

// rollout is a Herald whose replicas are replaced.
type rollout struct {
	*whole.Processes
	*balancer
	mails    *outside.MailServer
	previous string     // its binary
	replicas []*replica // the first ones of all services, then the second ones
}

// newRollout starts two replicas of everything, of the previous version.
func newRollout(t *testing.T) *rollout {
	t.Helper()
	mails, previous := outside.StartMailServer(t, outside.MailConfig{}), previousProgram(t)
	r := &rollout{Processes: whole.NewProcessesOf(t, previous, mails.URL()), mails: mails, previous: previous,
		balancer: &balancer{http: &http.Transport{MaxIdleConnsPerHost: 64}}}
	t.Cleanup(r.http.CloseIdleConnections)
	// Each of many clients may fail sixty times a minute.
	r.Env = append(r.Env, "HERALD_LOG_LEVEL=WARN", "HERALD_TRUSTED_PROXIES=127.0.0.1,::1")
	for range 2 {
		for _, service := range services.Names() {
			r.replicas = append(r.replicas, &replica{service: service})
		}
		g := &gateway{url: "http://" + whole.FreeAddress(t)}
		r.gateways = append(r.gateways, g)
		r.replicas = append(r.replicas, &replica{service: "gateway", gateway: g})
	}
	r.run(r.replicas[0]) // users makes the administrator
	var starting sync.WaitGroup
	for _, one := range r.replicas[1:] {
		starting.Go(func() { r.run(one) })
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	r.ReadToken()
	return r
}

// run starts a replica of the version that is to run now, and waits until it is ready.
func (r *rollout) run(one *replica) {
	r.T.Helper()
	var settings []string
	if one.gateway != nil {
		settings = append(settings, "HERALD_LISTEN="+strings.TrimPrefix(one.gateway.url, "http://"))
		if r.Program != r.previous { // which refuses settings that it does not know
			settings = append(settings, "HERALD_STOP_DELAY=2s")
		}
	}
	one.Cmd = r.Start(one.service, settings...)
}

// replace ends a replica as a supervisor does, and starts one of the version that is to run now in its place.
func (r *rollout) replace(one *replica) {
	r.T.Helper()
	byHand := one.gateway != nil && one.Path == r.previous // it closes its port as soon as it is told to stop
	if byHand {
		r.takeOut(one.gateway)
	}
	if err := one.Process.Signal(syscall.SIGTERM); err != nil {
		r.T.Fatal(err)
	}
	if err := one.Wait(); err != nil {
		r.T.Errorf("%s ended with %v", one.service, err)
	}
	r.run(one)
	if byHand {
		r.set(one.gateway, false)
	}
}

// Two replicas of everything are upgraded one after another under load, and then go back to the previous version, on
// the databases that this one has migrated. No request fails, no mail is lost, and none is sent twice.
func TestRollingUpgrade(t *testing.T) {
	if !hasHistory(whole.Root(t)) {
		t.Log("this clone has no history: nothing is upgraded")
		return
	}
	r := newRollout(t)
	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	for _, g := range r.gateways {
		busy.Go(func() { r.watch(ctx, g) })
	}
	l := newLoad(r)
	busy.Go(func() { l.run(ctx) })
	t.Cleanup(func() { stop(); busy.Wait() })
	steps, step := 2*len(r.replicas), 0
	for _, program := range []string{whole.Binary(t), r.previous} {
		r.Program = program
		for _, one := range r.replicas {
			step++
			l.reach(*requests * step / (steps + 1))
			r.replace(one)
		}
	}
	l.reach(*requests)
	stop()
	busy.Wait()
	l.judge()
}
