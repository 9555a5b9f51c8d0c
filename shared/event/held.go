package event

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"

	"herald/shared/contract"
	"herald/shared/postgres"
)

const (
	// atATime is how many messages are read with one request, and bytesAtATime their size.
	atATime      = 5000
	bytesAtATime = 4 << 20
	// pinging is how often a relay that reads the stream pings Postgres. Postgres ends an idle session after
	// idle_session_timeout, and so releases the lock.
	pinging = 5 * time.Second

	directGet = "$JS.API.DIRECT.GET." + Stream
)

// direct is a request for messages of the stream, as NATS reads it. The NATS client can only ask for one message.
type direct struct {
	Sequence uint64 `json:"seq"`
	Subject  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// held returns the positions of this service's events in the stream up to a message, in order. NATS leaves out what it
// cannot read. In a cluster a server may answer that lacks the newest events. Then they are published again, and
// consumers drop them.
func (r *Relay) held(ctx context.Context, conn *pgx.Conn, last int64) (positions []int64, err error) {
	inbox := r.Conn.NewInbox()
	answers, err := r.Conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer answers.Unsubscribe()
	pinged := time.Now()
	for next := uint64(1); next <= uint64(last); {
		request, err := json.Marshal(direct{next, "events." + r.Service + ".>", atATime, bytesAtATime})
		if err != nil {
			return nil, err
		}
		if err := r.Conn.PublishRequest(directGet, inbox, request); err != nil {
			return nil, err
		}
		for more := true; more; {
			m, status, err := answer(ctx, answers)
			switch {
			case err != nil:
				return nil, err
			case status == http.StatusNotFound: // the stream has no more
				slices.Sort(positions)
				return positions, nil
			case status == http.StatusNoContent: // the request has no more answers
				more = false
				continue
			}
			if next, err = strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64); err != nil {
				return nil, err
			}
			next++
			if p, err := strconv.ParseInt(m.Header.Get(contract.HeaderSequence), 10, 64); err == nil {
				positions = append(positions, p) // every event of Herald has a position
			}
		}
		if time.Since(pinged) > pinging {
			if err := conn.Ping(ctx); err != nil {
				return nil, postgres.Fault(err)
			}
			pinged = time.Now()
		}
	}
	slices.Sort(positions)
	return positions, nil
}

// answer waits for the next answer of NATS. The status of a message is 0.
func answer(ctx context.Context, answers *nats.Subscription) (m *nats.Msg, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	if m, err = answers.NextMsgWithContext(ctx); err != nil {
		return nil, 0, err
	}
	text := m.Header.Get("Status")
	if text == "" {
		return m, 0, nil
	}
	status, err = strconv.Atoi(text)
	if err == nil && status != http.StatusNotFound && status != http.StatusNoContent {
		err = fmt.Errorf("NATS answered %s %s", text, m.Header.Get("Description"))
	}
	return m, status, err
}
