// Package testworld starts a gateway for tests, with stand-ins for the services users and auth.
package testworld

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"herald/gateway"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	authv1 "herald/shared/gen/herald/auth/v1"
	_ "herald/shared/gen/herald/idp/v1"
	_ "herald/shared/gen/herald/notification/v1"
	_ "herald/shared/gen/herald/projects/v1" // links every contract
	_ "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// World is a gateway with stand-ins for the services users and auth.
type World struct {
	boot.Ground
	*Users
	URL      string
	Auth     *Auth
	Services []testkit.Server // users, auth
	Lines    *testkit.Lines   // of the log
	Clock    *testkit.Clock
}

// Start starts a gateway. It stops when the test ends.
func Start(t testing.TB) *World {
	t.Helper()
	return StartWith(t, gateway.Config{})
}

// StartWith is Start with other settings.
func StartWith(t testing.TB, c gateway.Config) *World {
	t.Helper()
	c.Listen = "127.0.0.1:0"
	w := &World{Users: newUsers(), Auth: &Auth{}, Lines: &testkit.Lines{}, Clock: &testkit.Clock{}}
	w.Ground = testkit.Logged(t, testkit.Ground(t), slog.LevelInfo, w.Lines)
	w.Now = w.Clock.Now
	w.Services = []testkit.Server{
		testkit.Serve(t, w.Ground, "users", w.Users, &usersv1.Users_ServiceDesc, &usersv1.Credentials_ServiceDesc,
			&usersv1.Imports_ServiceDesc, &usersv1.Internal_ServiceDesc),
		testkit.Serve(t, w.Ground, "auth", w.Auth, &authv1.Auth_ServiceDesc),
	}
	ground := w.Ground
	var err error
	// The container of the gateway has only these keys.
	ground.Keys, err = secret.ParseKeys(w.Keys.For(caller.Purpose, bus.Purpose(bus.Gateway)).Reveal())
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(t.Context(), ground, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := g.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { stop(); running.Wait() })
	w.URL = "http://" + g.Addr().String()
	if c.TLS() {
		w.URL = "https://" + g.Addr().String()
	}
	return w
}

// Stoppable runs one more gateway until stop is called, and for a delay after that. ended gets the error with which it
// ends.
func (w *World) Stoppable(t *testing.T, delay time.Duration) (
	address string, stop context.CancelFunc, ended <-chan error,
) {
	t.Helper()
	g, err := gateway.New(t.Context(), w.Ground, gateway.Config{Listen: "127.0.0.1:0", StopDelay: delay})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- g.Run(ctx) }()
	return g.Addr().String(), stop, result
}
