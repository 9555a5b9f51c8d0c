package gateway

import (
	"context"
	"net/http"
	"time"

	"herald/gateway/authn"
	"herald/shared/queue"
	"herald/shared/rpc"
)

const (
	// atOnce is how many requests the gateway works on at a time, and waiting how many may wait.
	atOnce  = 512
	waiting = 1024
	// patience is how long a request waits for its turn. Enough of its time is left for the work then.
	patience = rpc.MaxDuration / 2
)

// newTurns returns the queue of all requests. While others come too, an organization has half of the processors, so
// that its flood leaves the other half to them.
func newTurns() *queue.Queue { return queue.NewShared(atOnce, queue.Processors()/2, waiting) }

// takeTurn waits until it is the turn of the organization that a request acts on, or of the client if it has no
// token. The turn ends when the answer is written, which may take as long as its reader likes.
func (e *edge) takeTurn(x *exchange, r *http.Request) error {
	ctx := e.clientLine(r.Context(), r)
	if organization := x.pass.Organization(); organization != "" {
		ctx = queue.In(ctx, organization)
	}
	wait, enough := context.WithTimeout(ctx, patience)
	defer enough()
	turn, err := e.turns.Enter(wait)
	if err != nil {
		return err
	}
	long := time.AfterFunc(queue.Lingers, turn.Linger)
	x.endTurn = func() {
		long.Stop()
		turn.End()
	}
	return nil
}

// clientLine returns a context whose work waits in the line of a request's client.
func (e *edge) clientLine(ctx context.Context, r *http.Request) context.Context {
	return queue.In(ctx, "client "+e.proxies.client(r)) // no organization has such an id
}

// inTurn does a part of a stream when it is the turn of the organization that it acts on.
func (e *edge) inTurn(ctx context.Context, pass authn.Pass, work func()) error {
	return e.turns.Do(queue.In(ctx, pass.Organization()), work)
}
