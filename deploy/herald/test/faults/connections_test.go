package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// Two replicas of every service share a Postgres that has too few connections for all of them. After a burst the pools
// of two services have all connections. They give back what they do not need, and the third one works again.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	p := whole.NewProcesses(t, outside.StartMailServer(t, outside.MailConfig{}).URL())
	for _, service := range services.Names() {
		p.Start(service)
	}
	p.StartAll()
	clients := newClients(p, 8)
	watch := whole.Database(t, p.Postgres, "users")
	if refused := burst(p, clients, "users", "projects"); refused > 0 {
		t.Errorf("%d calls were refused before the connections were taken", refused)
	}
	full := held(t, watch)
	takeTheRest(t, p)
	refused := burst(p, clients, "idp")
	if refused == 0 {
		t.Error("Postgres had connections for everybody: the test proves nothing")
	}
	calm, third := []*load{clients[0], clients[8]}, clients[16:]
	began := time.Now()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ; held(t, watch) > full/2; <-tick.C {
		run(p, calm, 2, true)
		if time.Since(began) > time.Minute {
			t.Fatalf("of %d connections %d are held a minute after a burst", full, held(t, watch))
		}
	}
	given := time.Since(began)
	run(p, append(calm, third...), 100, true)
	for _, l := range clients {
		l.kept(t, p, "after the burst")
		for _, f := range l.faults {
			t.Error(f)
		}
	}
	t.Logf("%d calls of a service without connections were refused; the others gave %d of %d back after %s", refused,
		full-held(t, watch), full, given.Round(time.Second))
}

// burst lets 64 clients read the objects of services at once, and returns how many calls were refused.
func burst(p *whole.Processes, clients []*load, services ...string) (refused int64) {
	var busy sync.WaitGroup
	var count atomic.Int64
	for n := range 64 {
		busy.Go(func() {
			for _, l := range clients {
				if l.service != services[n%len(services)] {
					continue
				}
				if status, _, err := p.Try(http.MethodGet, fmt.Sprintf(l.read, l.id), ""); err != nil ||
					status != http.StatusOK {
					count.Add(1)
				}
			}
		})
	}
	busy.Wait()
	return count.Load()
}

// takeTheRest takes all connections that Postgres still has, as other programs do.
func takeTheRest(t *testing.T, p *whole.Processes) {
	t.Helper()
	for {
		db, err := pgx.Connect(t.Context(), p.Postgres.TCP())
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "53300" {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close(context.Background()) })
	}
}

// held returns how many connections the services of a burst hold.
func held(t *testing.T, db *pgx.Conn) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `select count(*) from pg_stat_activity
		where datname in ('herald_users', 'herald_projects') and usename = datname`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
