package expiration

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/postgres"
)

// mostCounted bounds the cost of a count. What ends first is counted first.
const mostCounted = 100_000

// newGauge returns the metric of how much ends soon in a service.
func newGauge(service string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name:        "herald_expirations",
		Help:        "How many things of a kind that are in use end within so many days.",
		ConstLabels: prometheus.Labels{"service": service},
	}, []string{"kind", "days"})
}

// Count sets the metric. It is 0 for the kinds of other services.
func Count(ctx context.Context, db *pgxpool.Pool, sql string, now time.Time, gauge *prometheus.GaugeVec) error {
	longest := steps[len(steps)-1]
	rows, _ := db.Query(ctx, `select kind, days,
			count(*) filter (where expires_at < @now + make_interval(hours => 24 * days))
		from (select e.kind, e.expires_at from (`+sql+`) e where e.active and e.expires_at > @now
			and e.expires_at < @now + make_interval(hours => 24 * @longest) order by e.expires_at limit @most) e,
			unnest(@steps::int[]) days group by kind, days`,
		postgres.Args{"now": now, "longest": longest, "most": mostCounted, "steps": steps})
	type count struct {
		kind heraldv1.ExpirationKind
		days int
		n    int64
	}
	counts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c count, err error) {
		return c, row.Scan(&c.kind, &c.days, &c.n)
	})
	if err != nil {
		return postgres.Fault(err)
	}
	for kind := range heraldv1.ExpirationKind_name {
		for _, days := range steps {
			if kind != 0 {
				set(gauge, heraldv1.ExpirationKind(kind), days, 0)
			}
		}
	}
	for _, c := range counts {
		set(gauge, c.kind, c.days, c.n)
	}
	return nil
}

func set(gauge *prometheus.GaugeVec, kind heraldv1.ExpirationKind, days int, n int64) {
	name := strings.ToLower(strings.TrimPrefix(kind.String(), "EXPIRATION_KIND_"))
	gauge.WithLabelValues(name, strconv.Itoa(days)).Set(float64(n))
}
