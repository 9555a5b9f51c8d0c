package idp_test

import (
	"fmt"
	"os"
	"testing"

	"herald/services/idp"
	"herald/services/idp/internal/testworld"
	"herald/shared/bus"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// While the master key changes, replicas and their callers are restarted one after another, so that
// some have the keys of one state and some those of the next. All calls succeed at both replicas,
// and each replica opens the secrets that the other has sealed.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	ground := testkit.Ground(t)
	server, err := bus.Embedded{Dir: t.TempDir(), Listen: "127.0.0.1:0", Keys: ground.Keys}.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Stop(server) })
	ground.Bus = bus.Address{URL: server.ClientURL()} // it accepts only the passwords of the old key
	old, fresh, database := ground.Keys.Text().Reveal(), secret.NewKeyText(), testworld.Kit.Database(t)
	// replica starts a replica with the given keys, and callers with the same keys.
	replica := func(keys string) (callers *testworld.World, stop func()) {
		g := ground
		var err error
		if g.Keys, err = secret.ParseKeys(keys); err != nil {
			t.Fatal(err)
		}
		s, err := g.Open(t.Context(), "idp", database, idp.Migrations)
		if err != nil {
			t.Fatal(err)
		}
		if err := idp.New(t.Context(), s, testworld.Config); err != nil {
			t.Fatal(err)
		}
		return testworld.Of(testkit.World{TB: t, Ground: g, Service: s}), testkit.Run(t, s)
	}
	before, stop := replica(old)
	id := before.Directory(before.InA, "Company")
	for step, keys := range []string{old + fresh, fresh + old} {
		after, stopAfter := replica(keys)
		for n := range 40 { // either replica answers
			w := []*testworld.World{before, after}[n%2]
			was := w.Get(id).Details.Sequence
			next := fmt.Sprintf("secret %d of step %d", n/4, step)
			r, err := w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: id, ClientSecret: next})
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			// The same secret is not a change, because the replica can open it.
			if changed := r.Details.Sequence != was; changed != (n%4 == 0) {
				t.Errorf("step %d, call %d: changed is %v", step, n, changed)
			}
			if got := before.SecretOf(id) + after.SecretOf(id); got != next+next {
				t.Errorf("step %d: the secret is %q", step, got)
			}
		}
		stop()
		before, stop = after, stopAfter
	}
	stop()
}
