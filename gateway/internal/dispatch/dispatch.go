// Package dispatch brings a request to the service that owns its method: it finds the caller, lets the
// organizations take turns, and forwards the message over the bus.
package dispatch

import (
	"context"
	"net/http"

	"herald/gateway/internal/authn"
	"herald/gateway/internal/exchange"
	"herald/shared/fault"
	"herald/shared/queue"
	"herald/shared/rpc"
)

// Dispatcher sends requests to services. It is safe for concurrent use.
type Dispatcher struct {
	// Services are called as the gateway.
	Services *rpc.Conn
	callers  *authn.Authenticator
	queue    *queue.Queue
}

// New returns a Dispatcher with a queue of its own.
func New(services *rpc.Conn, callers *authn.Authenticator) *Dispatcher {
	return &Dispatcher{Services: services, callers: callers,
		queue: queue.NewShared(atOnce, queue.Processors()/2, waiting)}
}

// Authenticate finds the caller, unless the method is public. It does not read the body.
func (d *Dispatcher) Authenticate(x *exchange.Exchange, r *http.Request, m *Method) (err error) {
	if !m.Public {
		x.Pass, err = d.callers.Authenticate(clientLine(r.Context(), x), r.Header, m.need)
	}
	return err
}

// AuthenticateIn finds the caller again, in the organization that a part of a stream names.
func (d *Dispatcher) AuthenticateIn(
	ctx context.Context, x *exchange.Exchange, h http.Header, organization string,
) (authn.Pass, error) {
	return d.callers.In(clientLine(ctx, x), h, organization)
}

// Call forwards a request to its service. If the service refuses a cached caller, Call resolves the token again and
// repeats the request: the caller may have got more permissions since, and the refused request has changed nothing.
func (d *Dispatcher) Call(
	ctx context.Context, m *Method, pass authn.Pass, request []byte,
) (answer rpc.Answer, err error) {
	defer func() {
		if !m.Safe {
			err = fault.AfterWrite(err)
		}
	}()
	answer, err = d.Services.Forward(rpc.WithSigned(ctx, pass.Header), m.Procedure, request)
	if err == nil || !pass.Cached {
		return answer, err
	}
	if code := fault.From(err).Code; code != fault.Denied && code != fault.Unauthenticated {
		return answer, err
	}
	if pass, err = d.callers.Again(ctx, pass); err != nil {
		return rpc.Answer{}, err
	}
	return d.Services.Forward(rpc.WithSigned(ctx, pass.Header), m.Procedure, request)
}
