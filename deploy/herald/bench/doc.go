// Package bench measures the whole system beside its floor: the least that HTTP,
// NATS and Postgres cost for the same work, in the same run. Machines are shared and
// noisy; the ratio is the finding. `make bench` runs it.
package bench
