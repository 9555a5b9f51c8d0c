package notification

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/services/notification/internal/delivery"
	"herald/shared/boot"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/postgres"
	"herald/shared/search"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

var kit = testkit.New("notification", Migrations)

func TestMain(m *testing.M) {
	if os.Getenv(victimKeys) != "" {
		if err := victim(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Most tests wait for a disk or for a pause, so more than one per core can run.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(kit.Main(m))
}

// world is a running service, stand-ins for the services that it asks, and its relay.
type world struct {
	testing.TB
	ground   boot.Ground
	database secret.Text
	db       *pgxpool.Pool // the test's own connections
	service  *boot.Service // the first replica
	stop     func()        // stops it and waits
	people   *people
	relay    *outside.MailServer
	gateway  notificationv1.NotificationsClient
	logs     *testkit.Lines
}

// setup is the differences of a test's world from the usual one.
type setup struct {
	relay  outside.MailConfig
	faults []outside.MailFault
	config func(*Config)
	times  func(*delivery.Times)
	// ground is that of a NATS server which other processes reach; nil for the usual one.
	ground *boot.Ground
	// unwatched is for tests that measure: watch would make the changes slower.
	unwatched bool
}

// quick are times for tests. Pauses are a thousandth of the usual ones. Leases are long, so that
// the sender finds a mail by a wake-up only, and a missing wake-up fails a test.
func quick() delivery.Times {
	return delivery.Times{
		Lease: time.Hour, Tick: time.Hour, Probe: 10 * time.Millisecond, MaxProbe: 40 * time.Millisecond,
		Doubt: 60 * time.Millisecond, Grace: 10 * time.Millisecond, Record: 30 * time.Second, Trial: time.Minute,
		Spread: func(d time.Duration) time.Duration { return d / 1000 },
	}
}

// newWorld returns a world without a running replica.
func newWorld(t testing.TB, s setup) *world {
	t.Helper()
	w := &world{TB: t, database: kit.Database(t), logs: &testkit.Lines{}}
	var err error
	if s.ground == nil {
		w.ground = testkit.Ground(t)
	} else {
		w.ground = *s.ground
	}
	w.ground = testkit.Logged(t, w.ground, slog.LevelDebug, io.MultiWriter(testkit.Output(t), w.logs))
	w.people = newPeople(t, w.ground)
	w.relay = outside.StartMailServer(t, s.relay, s.faults...)
	w.gateway = notificationv1.NewNotificationsClient(testkit.Calls(t, w.ground, "gateway"))
	if w.db, err = postgres.Open(t.Context(), secret.NewText(w.database.Reveal()+"&application_name=test"),
		noop.NewTracerProvider()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.db.Close)
	w.service = w.open(s)
	if !s.unwatched {
		w.watch()
	}
	return w
}

// watch makes until notice every change. Its trigger makes changes wait for each other.
func (w *world) watch() {
	w.Helper()
	if _, err := w.db.Exec(w.Context(),
		`create function changed() returns trigger language plpgsql as $$ begin notify changed; return null; end $$;
		create trigger changed after insert or update on notifications for each statement
			execute function changed()`); err != nil {
		w.Fatal(err)
	}
}

func startWorld(t testing.TB, s setup) *world {
	t.Helper()
	w := newWorld(t, s)
	w.stop = testkit.Run(t, w.service)
	return w
}

// open returns another replica.
func (w *world) open(s setup) *boot.Service {
	w.Helper()
	g := w.ground
	g.Metrics = testkit.Logged(w, g, slog.LevelInfo, io.Discard).Metrics // as in a process of its own
	service, err := g.Open(w.Context(), "notification", w.database, Migrations)
	if err != nil {
		w.Fatal(err)
	}
	service.PublicURL = &url.URL{Scheme: "https", Host: "login.example.com"}
	c := Config{SMTP: secret.NewText(w.relay.URL()), MailFrom: "Herald <no-reply@example.com>",
		Limit: search.Limit{MaxLimit: 50}}
	if s.config != nil {
		s.config(&c)
	}
	sender, err := newSender(service, c)
	if err != nil {
		w.Fatal(err)
	}
	sender.Times = quick()
	if s.times != nil {
		s.times(&sender.Times)
	}
	if err := start(service, c, sender); err != nil {
		w.Fatal(err)
	}
	return service
}
