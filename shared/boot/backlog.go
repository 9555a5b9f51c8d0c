package boot

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/shared/event"
)

// backlog is a collector of metrics about what a service has still to do: the events of its outbox, and those of other
// services. It also measures how full the stream is, and how many connections to the database are in use. While the
// database does not answer, it reports the last known values of the outbox.
type backlog struct {
	service                      *Service
	waiting, oldest, stale, fill *prometheus.Desc
	unhandled, dead, used, most  *prometheus.Desc
	mu                           sync.Mutex
	last                         outbox
}

// outbox is the state of the outbox at a time. The time is zero if the outbox was never read.
type outbox struct {
	n      int
	oldest time.Duration
	at     time.Time
}

func newBacklog(s *Service) *backlog {
	labels := prometheus.Labels{"service": s.Name}
	return &backlog{
		service: s,
		waiting: prometheus.NewDesc("herald_outbox_events",
			"Events of a service that are not published yet.", nil, labels),
		oldest: prometheus.NewDesc("herald_outbox_oldest_seconds",
			"Age of the oldest event of a service that is not published yet, 0 when none waits.", nil, labels),
		stale: prometheus.NewDesc("herald_outbox_stale_seconds",
			"For how long the outbox of a service could not be read, 0 when it can. The other figures are of before.",
			nil, labels),
		fill: prometheus.NewDesc("herald_events_stream_fill",
			"How full the stream EVENTS is, from 0 to 1; a full one drops its oldest.", nil, labels),
		unhandled: prometheus.NewDesc("herald_events_unhandled",
			"Events of other services that a service has not handled yet.", nil, labels),
		dead: prometheus.NewDesc("herald_dead_letters",
			"Events that a service failed to handle ten times, and that nobody has redriven.", nil, labels),
		used: prometheus.NewDesc("herald_postgres_connections_used",
			"Connections of a service to its database that are in use.", nil, labels),
		most: prometheus.NewDesc("herald_postgres_connections_max",
			"The most connections of a service to its database that can be in use.", nil, labels),
	}
}

func (b *backlog) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{b.waiting, b.oldest, b.stale, b.fill, b.unhandled, b.dead, b.used, b.most} {
		ch <- d
	}
}

func (b *backlog) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), CheckLimit)
	defer cancel()
	gauge := func(d *prometheus.Desc, value float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
	pool := b.service.DB.Stat() // first, because reading the outbox uses a connection
	gauge(b.used, float64(pool.AcquiredConns()))
	gauge(b.most, float64(pool.MaxConns()))
	if last := b.read(ctx); !last.at.IsZero() {
		age := b.service.Now().Sub(last.at)
		if last.n > 0 {
			last.oldest += age
		}
		gauge(b.waiting, float64(last.n))
		gauge(b.oldest, last.oldest.Seconds())
		gauge(b.stale, age.Seconds())
	}
	if fill, err := event.Fill(ctx, b.service.JS); err == nil {
		gauge(b.fill, fill)
	}
	if n, err := event.Unhandled(ctx, b.service.JS, b.service.Name); err == nil {
		gauge(b.unhandled, float64(n))
	}
	if n, err := event.CountLetters(ctx, b.service.JS, b.service.Name); err == nil {
		gauge(b.dead, float64(n))
	}
}

// read returns the present state of the outbox. If the database does not answer, it returns the last known state.
func (b *backlog) read(ctx context.Context) outbox {
	n, oldest, err := event.Backlog(ctx, b.service.DB)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		b.last = outbox{n, oldest, b.service.Now()}
	}
	return b.last
}
