package expiration_test

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"herald/shared/event"
	"herald/shared/expiration"
	"herald/shared/testkit"
)

const day = 24 * time.Hour

var kit = testkit.New("idp", fstest.MapFS{"migrations/001_things.sql": {Data: []byte(`create table things (
	id text collate "C" primary key, ends_at timestamptz, made_at timestamptz, active boolean)`)}})

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

const things = `select 5 as kind, id, id as name, 'org' as org_id, '' as owner_id,
	ends_at as expires_at, null::timestamptz as last_used_at, made_at, active, 'idp' as aggregate,
	'secret_expiration_announced' as event, id as aggregate_id, '{}'::jsonb as data from things`

// world is a database with things that expire, and a clock.
type world struct {
	*testing.T
	event.Journal
	now time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, Journal: kit.Journal(t), now: time.Now().Truncate(time.Second).Add(time.Second)}
	w.Now = func() time.Time { return w.now }
	return w
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.DB.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

// add adds a thing that ends in a time from now.
func (w *world) add(id string, in time.Duration) {
	w.Helper()
	w.exec(`insert into things values ($1, $2, $3, true)`, id, w.now.Add(in), w.now)
}

// forward announces four times a day, as replicas do that stop in between.
func (w *world) forward(by time.Duration) {
	w.Helper()
	for end := w.now.Add(by); w.now.Before(end); {
		w.now = w.now.Add(min(6*time.Hour, end.Sub(w.now)))
		w.announce()
	}
}

func (w *world) announce() {
	w.Helper()
	if err := expiration.Announce(w.Context(), w.Journal, things); err != nil {
		w.Fatal(err)
	}
}

// announced returns the ids of what was announced, each with the days of the step.
func (w *world) announced() []string {
	w.Helper()
	rows, _ := w.DB.Query(w.Context(), `select aggregate_id || ' ' || (data ->> 'days') from events order by position`)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return all
}

func TestEachStepThatLiesAheadIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		40 * day: "x 30, x 7, x 1", 30 * day: "x 30, x 7, x 1", 30*day - time.Second: "x 7, x 1", 5 * day: "x 1",
		20 * time.Hour: "", 400 * day: "",
	} {
		t.Run(in.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add("x", in)
			w.forward(42 * day)
			if got := strings.Join(w.announced(), ", "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestNothingIsAnnouncedOfWhatDoesNotEndThen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ change, want string }{
		"removed":   {`delete from things`, "x 30"},
		"inactive":  {`update things set active = false`, "x 30"},
		"prolonged": {`update things set ends_at = ends_at + interval '30 days'`, "x 30, x 30, x 7, x 1"},
		"endless":   {`update things set ends_at = '9999-12-31T23:59:59Z'`, "x 30"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add("x", 31*day)
			w.forward(2 * day)
			w.exec(c.change)
			w.forward(70 * day)
			if got := strings.Join(w.announced(), ", "); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestAfterAStopOnlyTheLastMissedStepIsAnnounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("soon", 31*day)
	w.add("ended", 20*day)
	w.now = w.now.Add(26 * day)
	w.announce()
	w.announce()
	if got := strings.Join(w.announced(), ", "); got != "soon 7" {
		t.Errorf("%q", got)
	}
}

// Replicas that look at the same time, and that end in the middle, announce everything once. There are more things of
// one time than a transaction announces.
func TestReplicasAnnounceEverythingOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const n = 1200
	w.exec(`insert into things select 'x' || i, $1, $2, true from generate_series(1, $3) i`,
		w.now.Add(30*day+time.Minute), w.now, n)
	w.now = w.now.Add(time.Hour)
	stopped, stop := context.WithCancel(t.Context())
	ended := make(chan error, 4)
	for range cap(ended) {
		go func() { ended <- expiration.Announce(stopped, w.Journal, things) }()
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	stop()
	for range cap(ended) - 1 {
		<-ended // the others may have been stopped
	}
	w.announce()
	got := w.announced()
	slices.Sort(got)
	if len(slices.Compact(got)) != n || len(w.announced()) != n {
		t.Errorf("%d events of %d things", len(w.announced()), len(got))
	}
	if got := testkit.Rows(t, w.DB, "outbox"); got != n {
		t.Errorf("%d events wait for the relay", got)
	}
}

// The metric counts by kind what ends within 1, 7 and 30 days and is in use.
func TestCountOfWhatEndsSoon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for id, in := range map[string]time.Duration{
		"ended": -day, "today": time.Hour, "week": 3 * day, "month": 29 * day, "later": 31 * day, "inactive": 2 * day,
	} {
		w.add(id, in)
	}
	w.exec(`update things set active = false where id = 'inactive'`)
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "n"}, []string{"kind", "days"})
	count := func() string {
		t.Helper()
		if err := expiration.Count(t.Context(), w.DB, things, w.now, gauge); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, days := range []string{"1", "7", "30"} {
			all = append(all, strconv.Itoa(int(testutil.ToFloat64(gauge.WithLabelValues("provider_secret", days)))))
		}
		return strings.Join(all, " ")
	}
	if got := count(); got != "1 2 3" {
		t.Errorf("%s", got)
	}
	w.exec(`delete from things`)
	if got := count(); got != "0 0 0" {
		t.Errorf("%s of nothing", got)
	}
}
