package idp_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"herald/services/idp"
	"herald/shared/bus"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// While the master key changes, replicas and their callers are restarted one after another, so that
// some have the keys of one state and some those of the next. All calls succeed at both replicas,
// and each replica opens the secrets that the other has sealed.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	w := &world{TB: t, ground: testkit.Ground(t)}
	server, err := bus.Embedded{Dir: t.TempDir(), Listen: "127.0.0.1:0", Keys: w.ground.Keys}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Stop(server) })
	w.ground.Bus = bus.Address{URL: server.ClientURL()} // it accepts only the passwords of the old key
	old, fresh, database := w.ground.Keys.Text().Reveal(), secret.NewKeyText(), kit.Database(t)
	// replica starts a replica with the given keys, and callers with the same keys.
	replica := func(keys string) (callers *world, stop func()) {
		g := w.ground
		var err error
		if g.Keys, err = secret.ParseKeys(keys); err != nil {
			t.Fatal(err)
		}
		s, err := g.Open(t.Context(), "idp", database, idp.Migrations)
		if err != nil {
			t.Fatal(err)
		}
		if err := idp.New(t.Context(), s, config); err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { s.Run(ctx) })
		callers = &world{TB: t, ground: g, service: s, IdpsClient: idpv1.NewIdpsClient(testkit.Calls(t, g, "gateway"))}
		callers.inA = callers.as("org-a", "ORG_OWNER")
		return callers, func() { end(); running.Wait() }
	}
	before, stop := replica(old)
	id := before.directory(before.inA, "Company")
	for step, keys := range []string{old + fresh, fresh + old} {
		after, stopAfter := replica(keys)
		for n := range 40 { // either replica answers
			w := []*world{before, after}[n%2]
			was := w.get(id).Details.Sequence
			next := fmt.Sprintf("secret %d of step %d", n/4, step)
			r, err := w.UpdateDirectoryIdp(w.inA, &idpv1.UpdateDirectoryIdpRequest{Id: id, ClientSecret: next})
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			// The same secret is not a change, because the replica can open it.
			if changed := r.Details.Sequence != was; changed != (n%4 == 0) {
				t.Errorf("step %d, call %d: changed is %v", step, n, changed)
			}
			if got := before.secretOf(id) + after.secretOf(id); got != next+next {
				t.Errorf("step %d: the secret is %q", step, got)
			}
		}
		stop()
		before, stop = after, stopAfter
	}
	stop()
}
