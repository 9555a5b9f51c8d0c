package lifetimes_test

import (
	"os"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/lifetimes"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/testworld"
	"herald/shared/caller"
	"herald/shared/eventcache"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/testkit"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// A replica uses a change that another one made, and what its environment sets stays. Nothing is read on a timer, so it
// hears of the change by the event. If it was cut off from NATS, and so got no event, it reads when it is connected
// again.
func TestReplicasUseAChange(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	s := testworld.Start(t, g, testworld.Public, 1000)
	conn := testkit.Connect(t, g, "auth")
	changes, err := eventcache.Listen(conn, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	fixed := domain.Settings{Lifetimes: domain.Lifetimes{Refresh: 200 * time.Hour}}
	replica, err := lifetimes.Open(t.Context(), lifetimes.Config{
		Store: store.New(s.Journal), Environment: fixed, Epoch: changes.Epoch, Log: s.Log,
	})
	if err != nil {
		t.Fatal(err)
	}
	soon := func(access time.Duration) {
		t.Helper()
		want := domain.Lifetimes{Access: access, RefreshIdle: 720 * time.Hour, Refresh: 200 * time.Hour}
		deadline := time.Now().Add(20 * time.Second)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for now := range tick.C {
			got := replica.Current(t.Context())
			if got == want {
				return
			}
			if now.After(deadline) {
				t.Fatalf("%v, want %v", got, want)
			}
		}
	}
	soon(time.Hour)
	owner := testkit.As(t.Context(), g, caller.Caller{UserID: "admin",
		Memberships: []caller.Membership{{Roles: []string{"IAM_OWNER"}}}})
	if _, err := testworld.NewEdge(t, g).Auth.SetSettings(owner,
		&authv1.SetSettingsRequest{AccessTokenLifetime: durationpb.New(2 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	soon(2 * time.Minute)
	if _, err := s.DB.Exec(t.Context(), `update settings set access = '180 s'`); err != nil { // without an event
		t.Fatal(err)
	}
	if err := conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	soon(3 * time.Minute)
}
