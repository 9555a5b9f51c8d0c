package event

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"herald/shared/contract"
)

// Delivery is an event as a consumer receives it. The same event may be delivered again, even after newer events of
// the same aggregate. Sequence gives the order.
type Delivery struct {
	ID             string
	AggregateID    string
	OrganizationID string
	Actor          string
	Sequence       int64
	Time           time.Time
	// Redriven reports whether the event was a dead letter of this service. It may arrive after newer events of its
	// aggregate, and a handler must not drop it because it is older.
	Redriven bool
}

// Handler handles one kind of event.
type Handler struct {
	kind   kind
	handle func(context.Context, Delivery, []byte) error
}

// On makes a handler for the events of a message type. The same event may be handled more
// than once.
func On[E any, P interface {
	*E
	proto.Message
}](fn func(context.Context, Delivery, P) error) Handler {
	return Handler{kindOf(P(new(E)).ProtoReflect().Descriptor()),
		func(ctx context.Context, d Delivery, data []byte) error {
			m := P(new(E))
			if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m); err != nil {
				return fmt.Errorf("decode event: %w", err)
			}
			return fn(ctx, d, m)
		}}
}

// try handles a delivery within its time limit. A panic becomes an error, so that it does not end the
// process.
func (h Handler) try(ctx context.Context, d Delivery, data []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	if d.OrganizationID == "" && !contract.OfInstance(h.kind.aggregate) {
		return errors.New("the event has no organization")
	}
	ctx, cancel := context.WithTimeout(ctx, handling)
	defer cancel()
	return h.handle(ctx, d, data)
}

func delivery(h nats.Header) (Delivery, error) {
	d := Delivery{
		ID: h.Get(contract.HeaderID), AggregateID: h.Get(contract.HeaderSubject),
		OrganizationID: h.Get(contract.HeaderOrganization),
		Actor:          h.Get(contract.HeaderActor), Redriven: h.Get(headerRedriven) != "",
	}
	var err error
	if d.Sequence, err = strconv.ParseInt(h.Get(contract.HeaderSequence), 10, 64); err != nil {
		return d, fmt.Errorf("%s: %w", contract.HeaderSequence, err)
	}
	if d.Time, err = time.Parse(time.RFC3339Nano, h.Get(contract.HeaderTime)); err != nil {
		return d, fmt.Errorf("%s: %w", contract.HeaderTime, err)
	}
	return d, nil
}
