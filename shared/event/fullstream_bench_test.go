package event_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/event"
	"herald/shared/testkit"
)

const (
	mailEvery = 1000 // of so many events one asks for a mail
	latest    = 5 * time.Second
	away      = time.Minute // of the notifier, in the second half
)

// A stream of 64 MiB takes any number of events: none is refused, no mail is late, a
// subscriber that was away sees its gap, and a notifier that was away loses nothing.
//
//	go test ./shared/event -run '^$' -bench FullStream -benchtime 2000000x -timeout 30m
func BenchmarkFullStream(b *testing.B) {
	if b.N == 1 {
		return // package testing tries every benchmark with one
	}
	g := testkit.Ground(b)
	g.Streams.MaxBytes = 64 << 20
	r := newReplica(b, g, kit.Database(b))
	testkit.Go(b, r.relay.Run)
	seen := newTally()
	late := time.Duration(0)
	notifier := func(note func(event.Delivery)) func() {
		stop := testkit.Go(b, consumer(b, g, onRenamed(func(ctx context.Context, d event.Delivery) error {
			note(d)
			return seen.note(ctx, d)
		})).Run)
		return stop
	}
	stop := notifier(func(d event.Delivery) { late = max(late, time.Since(d.Time)) })
	r.until("the notifier consumes", func() bool { return r.consumes("text") })

	began, mails, waiting := time.Now(), 0, 0
	for range b.N / 2 / mailEvery {
		mails += r.fillWithAMail()
		for waiting = max(waiting, r.count("outbox")); r.count("outbox") > 5*mailEvery; {
		}
	}
	r.drained()
	seen.wait(b, mails)
	half := time.Since(began)
	s := r.state()
	fmt.Printf("full stream: %d events, %.0f/s, at most %d in the outbox; mails at most %v late; kept %d to %d\n",
		b.N/2, float64(b.N/2)/half.Seconds(), waiting, late.Round(time.Millisecond), s.FirstSeq, s.LastSeq)
	if late > latest {
		b.Errorf("a mail was %v late", late)
	}
	if next := r.after(1); next == 2 {
		b.Error("there is no gap behind event 1")
	} else {
		fmt.Printf("full stream: a subscriber that had seen event 1 gets %d next\n", next)
	}

	stop()
	gone := time.Now()
	for range b.N / 2 / mailEvery {
		mails += r.fillWithAMail()
	}
	<-time.After(away - time.Since(gone))
	held, reason := r.count("outbox"), r.relay.Delayed()
	notifier(func(event.Delivery) {})
	r.drained()
	ids := map[string]bool{}
	for _, d := range seen.wait(b, mails-b.N/2/mailEvery) {
		ids[d.ID] = true
	}
	fmt.Printf("full stream: after %v away, with %d in the outbox (%v), %d of %d mails came\n",
		time.Since(gone).Round(time.Second), held, reason, len(ids), mails)
	if len(ids) != mails {
		b.Errorf("%d mails were lost", mails-len(ids))
	}
}

// drained waits as long as it takes until everything is published.
func (r *replica) drained() {
	r.Helper()
	for tick := time.NewTicker(100 * time.Millisecond); r.count("outbox") > 0; <-tick.C {
	}
}

// fillWithAMail puts mailEvery events into the outbox, of which one asks for a mail.
func (r *replica) fillWithAMail() int {
	r.Helper()
	_, err := r.db.Exec(r.Context(), `with event as (
		insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select gen_random_uuid()::text, 'org', $2 || n, $2 || n, case n when $3 then 'changed' else 'created' end,
			'0199f1c0-4d2e-7c1f-9d0a-3f6f1f0e8a11', '0199f1c0-4d2e-7c1f-9d0a-3f6f1f0e8a12',
			'{"userId": "0199f1c0-4d2e-7c1f-9d0a-3f6f1f0e8a13"}', clock_timestamp()
		from generate_series(1, $1) n returning position
	) insert into outbox select position from event`,
		mailEvery, strconv.FormatUint(rand.Uint64(), 36)+"-", rand.IntN(mailEvery)+1)
	if err != nil {
		r.Fatal(err)
	}
	r.relay.Wake(event.Event{})
	return 1
}

// after is the number of the first message behind another, as a consumer of all gets it.
func (r *replica) after(sequence uint64) uint64 {
	r.Helper()
	_, js := connect(r, r.ground, "auth")
	c, err := js.CreateOrUpdateConsumer(r.Context(), event.Stream, jetstream.ConsumerConfig{
		Durable: "auth", AckPolicy: jetstream.AckNonePolicy,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: sequence + 1,
	})
	if err != nil {
		r.Fatal(err)
	}
	m, err := c.Next()
	if err != nil {
		r.Fatal(err)
	}
	meta, err := m.Metadata()
	if err != nil {
		r.Fatal(err)
	}
	return meta.Sequence.Stream
}
