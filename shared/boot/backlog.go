package boot

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/shared/event"
)

// backlog is a collector of metrics about a service's outbox: how many events wait and for how long. It also measures
// how full the stream is. While the database does not answer, it reports the last known values.
type backlog struct {
	service                      *Service
	waiting, oldest, stale, fill *prometheus.Desc
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
	}
}

func (b *backlog) Describe(ch chan<- *prometheus.Desc) {
	ch <- b.waiting
	ch <- b.oldest
	ch <- b.stale
	ch <- b.fill
}

func (b *backlog) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), CheckLimit)
	defer cancel()
	if last := b.read(ctx); !last.at.IsZero() {
		age := b.service.Now().Sub(last.at)
		if last.n > 0 {
			last.oldest += age
		}
		ch <- prometheus.MustNewConstMetric(b.waiting, prometheus.GaugeValue, float64(last.n))
		ch <- prometheus.MustNewConstMetric(b.oldest, prometheus.GaugeValue, last.oldest.Seconds())
		ch <- prometheus.MustNewConstMetric(b.stale, prometheus.GaugeValue, age.Seconds())
	}
	if fill, err := event.Fill(ctx, b.service.JS); err == nil {
		ch <- prometheus.MustNewConstMetric(b.fill, prometheus.GaugeValue, fill)
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
