package protocol

import "github.com/prometheus/client_golang/prometheus"

// Counter returns a registered counter of the requests to an endpoint. Its labels only have values that Herald defines,
// never text of a client.
func Counter(metrics prometheus.Registerer, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	// Tests run two replicas in one process. Only the metrics of the first are registered.
	_ = metrics.Register(c)
	return c
}
