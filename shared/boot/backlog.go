package boot

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"herald/shared/event"
)

// backlog is a collector of metrics: how many of a service's events wait in its outbox, for how
// long, and how full the stream is. It leaves out what it cannot read.
type backlog struct {
	service               *Service
	waiting, oldest, fill *prometheus.Desc
}

func newBacklog(s *Service) *backlog {
	labels := prometheus.Labels{"service": s.Name}
	return &backlog{
		service: s,
		waiting: prometheus.NewDesc("herald_outbox_events",
			"Events of a service that are not published yet.", nil, labels),
		oldest: prometheus.NewDesc("herald_outbox_oldest_seconds",
			"Age of the oldest event of a service that is not published yet, 0 when none waits.", nil, labels),
		fill: prometheus.NewDesc("herald_events_stream_fill",
			"How full the stream EVENTS is, from 0 to 1; a full one drops its oldest.", nil, labels),
	}
}

func (b *backlog) Describe(ch chan<- *prometheus.Desc) { ch <- b.waiting; ch <- b.oldest; ch <- b.fill }

func (b *backlog) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), checkLimit)
	defer cancel()
	if n, oldest, err := event.Backlog(ctx, b.service.DB); err == nil {
		ch <- prometheus.MustNewConstMetric(b.waiting, prometheus.GaugeValue, float64(n))
		ch <- prometheus.MustNewConstMetric(b.oldest, prometheus.GaugeValue, oldest.Seconds())
	}
	if fill, err := event.Fill(ctx, b.service.JS); err == nil {
		ch <- prometheus.MustNewConstMetric(b.fill, prometheus.GaugeValue, fill)
	}
}
