package dispatch

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"herald/gateway/internal/authn"
	"herald/gateway/internal/exchange"
	"herald/shared/queue"
	"herald/shared/rpc"
)

// The queue of all requests. While others send requests too, an organization has half of the processors, so that the
// other half is left for them.
const (
	// atOnce is how many requests the gateway works on at a time, and waiting how many may wait.
	atOnce  = 512
	waiting = 1024
	// queueLimit is how long a request waits for its turn. The other half of its time is left for the work.
	queueLimit = rpc.MaxDuration / 2
)

// TakeTurn waits until it is the turn of the organization that a request acts on, or of the client if it has no
// token. The turn ends when the answer is written; a slow reader does not make it longer.
func (d *Dispatcher) TakeTurn(x *exchange.Exchange, r *http.Request) error {
	ctx := clientLine(r.Context(), x)
	if organization := x.Pass.Organization(); organization != "" {
		ctx = queue.In(ctx, organization)
	}
	wait, cancel := context.WithTimeout(ctx, queueLimit)
	defer cancel()
	turn, err := d.queue.Enter(wait)
	if err != nil {
		return err
	}
	long := time.AfterFunc(queue.LongCall, turn.MarkLong)
	x.EndTurn = func() {
		long.Stop()
		turn.End()
	}
	return nil
}

// CallInTurn is Call when it is the turn of the organization that a part of a stream acts on.
func (d *Dispatcher) CallInTurn(
	ctx context.Context, m *Method, pass authn.Pass, request []byte,
) (answer rpc.Answer, err error) {
	busy := d.queue.Do(queue.In(ctx, pass.Organization()), func() { answer, err = d.Call(ctx, m, pass, request) })
	return answer, cmp.Or(busy, err)
}

// clientLine returns a context whose work waits in the line of a request's client.
func clientLine(ctx context.Context, x *exchange.Exchange) context.Context {
	return queue.In(ctx, "client "+x.Client) // no organization has such an id
}
