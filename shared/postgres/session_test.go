package postgres_test

import (
	"testing"

	"herald/shared/postgres"
	"herald/shared/secret"
)

// Only migrations have no time limit: later statements on the same connection have one.
func TestMigrationsHaveNoTimeLimit(t *testing.T) {
	t.Parallel()
	server := start(t)
	pool := open(t, secret.NewText(server.URL()))
	if err := postgres.Migrate(t.Context(), pool, "version",
		files(`create table seen as select current_setting('statement_timeout') as during`,
			`insert into seen select current_setting('statement_timeout')`)); err != nil {
		t.Fatal(err)
	}
	var during, after, locks string
	if err := pool.QueryRow(t.Context(), `select string_agg(during, ' '), current_setting('statement_timeout'),
		current_setting('lock_timeout') from seen`).Scan(&during, &after, &locks); err != nil {
		t.Fatal(err)
	}
	if during != "0 0" || after != "30s" || locks != "0" || pool.Stat().NewConnsCount() != 1 {
		t.Errorf("limited to %s, then to %s, on %d connections", during, after, pool.Stat().NewConnsCount())
	}
}

// The keep-alives find a vanished machine within half a minute.
func TestKeepAlives(t *testing.T) {
	t.Parallel()
	server := start(t)
	for place, c := range map[string]struct{ url, want string }{
		"TCP":         {server.TCP(), "10 5 3"},
		"unix socket": {server.URL(), "0 0 0"}, // has none
	} {
		t.Run(place, func(t *testing.T) {
			var got string
			pool := open(t, secret.NewText(c.url))
			if err := pool.QueryRow(t.Context(), `select concat_ws(' ', current_setting('tcp_keepalives_idle'), `+
				`current_setting('tcp_keepalives_interval'), current_setting('tcp_keepalives_count'))`).
				Scan(&got); err != nil || got != c.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
