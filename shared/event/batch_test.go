package event_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/event"
	"herald/shared/testkit"
)

// fill puts n events of so many aggregates into the outbox.
func (r *replica) fill(n, aggregates int) {
	r.Helper()
	_, err := r.db.Exec(r.Context(), `with event as (
		insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select gen_random_uuid()::text, 'org', (n % $2)::text, (n % $2)::text, 'created', 'org-1', '', '{}', now()
		from generate_series(1, $1) n
		returning position
	) insert into outbox select position from event`, n, aggregates)
	if err != nil {
		r.Fatal(err)
	}
}

// intact reads the n messages that the relays publish and fails the test if one is lost, doubled or out
// of order.
func (r *replica) intact(n int) []jetstream.Msg {
	r.Helper()
	r.until("the outbox is empty", func() bool { return r.count("outbox") == 0 })
	last, ids := map[string]int64{}, map[string]bool{}
	all := r.stream(n)
	for _, m := range all {
		aggregate, position := m.Headers().Get("ce-subject"), sequence(r, m)
		if position <= last[aggregate] {
			r.Errorf("%s: %d came after %d", aggregate, position, last[aggregate])
		}
		last[aggregate] = position
		ids[m.Headers().Get("ce-id")] = true
	}
	if len(ids) != n {
		r.Errorf("%d different events, want %d", len(ids), n)
	}
	return all
}

// Few events are published one by one. Many are published as batches, each with one sync.
func TestBatches(t *testing.T) {
	t.Parallel()
	for n, batched := range map[int]int{1: 0, 31: 0, 32: 32, 33: 33, 1000: 1000, 1031: 1000, 2500: 2500} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			r := newReplica(t, testkit.Ground(t), kit.Database(t))
			r.fill(n, 7)
			testkit.Go(t, r.relay.Run)
			inBatches := 0
			for i, m := range r.intact(n) {
				if m.Headers().Get("Nats-Batch-Id") != "" {
					inBatches++
					if sequence(t, m) != int64(i+1) {
						t.Errorf("message %d has the number %d: a batch keeps the order of the outbox", i+1,
							sequence(t, m))
					}
				}
			}
			if inBatches != batched {
				t.Errorf("%d came in batches, want %d", inBatches, batched)
			}
		})
	}
}

// JetStream refuses a batch if it knows one of the events. Then the events are published one by one.
func TestRefusedBatch(t *testing.T) {
	t.Parallel()
	for _, known := range []int{1, 20, 40} {
		t.Run(fmt.Sprint("event ", known, " of 40"), func(t *testing.T) {
			t.Parallel()
			r := newReplica(t, testkit.Ground(t), kit.Database(t))
			r.fill(40, 40)
			half := r.messages()[known-1]
			if _, err := r.js.PublishMsg(t.Context(), half); err != nil {
				t.Fatal(err)
			}
			testkit.Go(t, r.relay.Run)
			for _, m := range r.intact(40) {
				if m.Headers().Get("Nats-Batch-Id") != "" {
					t.Fatal("came in a batch")
				}
			}
		})
	}
}

// messages are the events of the outbox as another process would publish them.
func (r *replica) messages() (found []*nats.Msg) {
	r.Helper()
	rows, err := r.db.Query(r.Context(), `select e.position, e.id, e.aggregate_id from outbox o join events e using `+
		`(position) order by 1`)
	if err != nil {
		r.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var position int64
		var id, aggregate string
		if err := rows.Scan(&position, &id, &aggregate); err != nil {
			r.Fatal(err)
		}
		found = append(found, &nats.Msg{Subject: "events.users.org.created.org-1", Header: nats.Header{
			nats.MsgIdHdr: {id}, "ce-id": {id}, "ce-subject": {aggregate},
			"ce-sequence": {strconv.FormatInt(position, 10)},
		}})
	}
	if err := rows.Err(); err != nil {
		r.Fatal(err)
	}
	return found
}

// A relay that was killed between two messages of its batch has published none of it;
// killed between the batch and clearing the outbox, all of it.
func TestRelayKilledAroundABatch(t *testing.T) {
	t.Parallel()
	r := newReplica(t, testkit.Ground(t), kit.Database(t))
	r.fill(100, 10)
	for i, m := range r.messages()[:50] {
		m.Header["Nats-Batch-Id"], m.Header["Nats-Batch-Sequence"] = []string{"killed"}, []string{strconv.Itoa(i + 1)}
		if err := r.conn.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	stop := testkit.Go(t, r.relay.Run)
	r.intact(100)
	stop()
	if n, err := event.Replay(t.Context(), r.db, 1); n != 100 || err != nil {
		t.Fatalf("%d are in the outbox again, %v", n, err)
	}
	testkit.Go(t, r.relay.Run)
	r.intact(100)
}

// The relay that holds the lock loses its connection many times while batches are published.
func TestRelaysTakeOverFromEachOther(t *testing.T) {
	t.Parallel()
	const n = 5000
	g, url := testkit.Ground(t), kit.Database(t)
	r := newReplica(t, g, url)
	r.fill(n, 100)
	for range 3 {
		testkit.Go(t, newReplica(t, g, url).relay.Run)
	}
	for killed := 0; r.count("outbox") > 0; {
		for _, pid := range r.lockHolders() {
			if killed < 5 {
				killed += r.count("pg_terminate_backend($1) as done where done", pid)
			}
		}
	}
	r.intact(n)
}

// NATS stops and starts while batches are published.
func TestBatchesOutliveNATS(t *testing.T) {
	t.Parallel()
	const n = 8000
	w := newWorld(t)
	r := newReplica(t, w.Ground, kit.Database(t))
	r.fill(n, 100)
	testkit.Go(t, r.relay.Run)
	r.until("the first batch is published", func() bool { return r.count("outbox") < n })
	w.stop()
	if r.count("outbox") == 0 {
		t.Fatal("nothing was under way")
	}
	w.start(t)
	r.intact(n)
}
