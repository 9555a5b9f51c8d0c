package event_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"herald/shared/testkit"
)

// How fast a relay publishes thousands of waiting events. It cannot be faster than the next benchmark.
func BenchmarkRelay(b *testing.B) {
	r := newReplica(b, testkit.Ground(b), kit.Database(b))
	r.fill(b.N, b.N)
	b.ResetTimer()
	testkit.Go(b, r.relay.Run)
	r.drained()
}

// How fast JetStream alone writes messages to the disk.
func BenchmarkRelayFloor(b *testing.B) {
	r := newReplica(b, testkit.Ground(b), kit.Database(b))
	acks := make([]jetstream.PubAckFuture, 0, 512)
	b.ResetTimer()
	for i := range b.N {
		m := &nats.Msg{Subject: "events.users.org.created.o", Data: []byte("{}"),
			Header: nats.Header{nats.MsgIdHdr: {strconv.Itoa(i)}}}
		ack, err := r.js.PublishMsgAsync(m)
		if err != nil {
			b.Fatal(err)
		}
		if acks = append(acks, ack); len(acks) < cap(acks) && i < b.N-1 {
			continue
		}
		for _, ack := range acks {
			<-ack.Ok()
		}
		acks = acks[:0]
	}
}

func BenchmarkCreate(b *testing.B) {
	r := newReplica(b, testkit.Ground(b), kit.Database(b))
	var n atomic.Int64
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := r.create(strconv.FormatInt(n.Add(1), 10)); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkConsume(b *testing.B) {
	g := testkit.Ground(b)
	r := newSource(b, g)
	all := newTally()
	for i := range b.N {
		r.mustCreate(fmt.Sprint(i))
	}
	r.until("all are published", func() bool { return r.count("outbox") == 0 })
	b.ResetTimer()
	testkit.Go(b, consumer(b, g, onCreated(all.note)).Run)
	all.wait(b, b.N)
}

// How long a relay takes to compare the stream with its database, as after each restart of NATS:
//
//	go test ./shared/event -run '^$' -bench Compare -benchtime 300000x
func BenchmarkCompare(b *testing.B) {
	g := testkit.Ground(b)
	g.Streams.MaxBytes = 2 << 30
	r := newReplica(b, g, kit.Database(b))
	stop := testkit.Go(b, r.relay.Run)
	for left := b.N; left > 0; left -= 100_000 {
		r.fill(min(left, 100_000), b.N)
	}
	r.drained()
	stop()
	if _, err := r.db.Exec(b.Context(), `update stream_seen set server = 'another'`); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(r.state().Bytes) / int64(b.N))
	b.ResetTimer()
	testkit.Go(b, r.relay.Run)
	for r.count(`stream_seen where server = 'another'`) > 0 {
	}
}
