// Package testworld starts the service for its tests, with stand-ins for the services users and text and a mail server.
package testworld

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/notification"
	"herald/services/notification/internal/delivery"
	"herald/shared/boot"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

var kit = testkit.New("notification", notification.Migrations)

// Main runs the tests of a package. Most of them wait for a disk or for a pause, so more than one per core can run.
func Main(m *testing.M) int {
	if err := flag.Set("test.parallel", "4"); err != nil {
		slog.Error("set the number of parallel tests", "err", err)
		return 1
	}
	return kit.Main(m)
}

// World is a service and what it needs.
type World struct {
	testing.TB
	notificationv1.NotificationsClient
	Ground   boot.Ground
	Database secret.Text
	// DB has connections of the test, which are called "test".
	DB *pgxpool.Pool
	// Service is the first replica. Stop stops it and waits.
	Service *boot.Service
	Stop    func()
	Users   *Users
	Relay   *outside.MailServer
	Logs    *testkit.Lines
}

// Setup is how a world differs from the usual one.
type Setup struct {
	Relay  outside.MailConfig
	Faults []outside.MailFault
	Config func(*notification.Config)
	Times  func(*delivery.Times)
	// Ground is that of a NATS server which other processes reach; nil for the usual one.
	Ground *boot.Ground
}

// Guarded is a relay that requires TLS and a login.
var Guarded = outside.MailConfig{TLS: outside.StartTLS, DemandTLS: true, User: "herald", Password: "CANARY-password"}

// New returns a world with a running replica.
func New(t testing.TB, s Setup) *World {
	t.Helper()
	w := Stopped(t, s)
	w.Stop = testkit.Run(t, w.Service)
	return w
}

// Stopped returns a world without a running replica.
func Stopped(t testing.TB, s Setup) *World {
	t.Helper()
	w := &World{TB: t, Database: kit.Database(t), Logs: &testkit.Lines{}}
	if s.Ground == nil {
		w.Ground = testkit.Ground(t)
	} else {
		w.Ground = *s.Ground
	}
	w.Ground = testkit.Logged(t, w.Ground, slog.LevelDebug, io.MultiWriter(testkit.Output(t), w.Logs))
	w.Users = newUsers(t, w.Ground)
	w.Relay = outside.StartMailServer(t, s.Relay, s.Faults...)
	w.NotificationsClient = notificationv1.NewNotificationsClient(testkit.Calls(t, w.Ground, "gateway"))
	var err error
	if w.DB, err = pgxpool.New(t.Context(), w.Database.Reveal()+"&application_name=test"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.DB.Close)
	w.Service = w.Open(s)
	return w
}

// Open returns another replica, which does not run yet.
func (w *World) Open(s Setup) *boot.Service {
	w.Helper()
	g := w.Ground
	g.Metrics = testkit.Logged(w, g, slog.LevelInfo, io.Discard).Metrics // as in a process of its own
	service, err := g.Open(w.Context(), "notification", w.Database, notification.Migrations)
	if err != nil {
		w.Fatal(err)
	}
	if err := Start(w.Context(), service, w.Relay.URL(), s); err != nil {
		w.Fatal(err)
	}
	return service
}

// Start registers the service with the times of tests and with a relay.
func Start(ctx context.Context, service *boot.Service, relay string, s Setup) error {
	service.PublicURL = &url.URL{Scheme: "https", Host: "login.example.com"}
	c := notification.Config{SMTP: secret.NewText(relay), MailFrom: "Herald <no-reply@example.com>"}
	c.MaxLimit = 50
	if s.Config != nil {
		s.Config(&c)
	}
	sender, err := notification.NewSender(service, c)
	if err != nil {
		return err
	}
	sender.Times = quick()
	if s.Times != nil {
		s.Times(&sender.Times)
	}
	return notification.Start(ctx, service, c, sender)
}

// quick returns times for tests. Pauses are a thousandth of the usual ones. Leases are long, so that the sender finds a
// mail only if it is woken, and a test fails if it is not.
func quick() delivery.Times {
	return delivery.Times{
		Lease: time.Hour, Tick: time.Hour, Probe: 10 * time.Millisecond, MaxProbe: 40 * time.Millisecond,
		Doubt: 60 * time.Millisecond, Grace: 10 * time.Millisecond, Record: 30 * time.Second, TestMail: time.Minute,
		Spread: func(d time.Duration) time.Duration { return d / 1000 },
	}
}
