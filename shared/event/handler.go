package event

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Delivery is an event as a consumer meets it. The same one may come again, and an
// older one of the same aggregate after a newer: Sequence tells.
type Delivery struct {
	ID             string
	AggregateID    string
	OrganizationID string
	Actor          string
	Sequence       int64
	Time           time.Time
	// Redriven tells that this service put the event aside and now gets it again,
	// perhaps after newer ones of the aggregate: whoever drops what is older than what
	// they have must not drop it for that.
	Redriven bool
}

// Handler reacts to one kind of event.
type Handler struct {
	kind   kind
	handle func(context.Context, Delivery, []byte) error
}

// On makes a handler for the events that the message type describes. Handlers read
// an event as "this changed" and bear repeats.
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

func delivery(h nats.Header) (Delivery, error) {
	d := Delivery{
		ID: h.Get(headerID), AggregateID: h.Get(headerSubject), OrganizationID: h.Get(headerOrganization),
		Actor:    h.Get(headerActor),
		Redriven: h.Get(headerRedriven) != "",
	}
	var err error
	if d.Sequence, err = strconv.ParseInt(h.Get(headerSequence), 10, 64); err != nil {
		return d, fmt.Errorf("%s: %w", headerSequence, err)
	}
	if d.Time, err = time.Parse(time.RFC3339Nano, h.Get(headerTime)); err != nil {
		return d, fmt.Errorf("%s: %w", headerTime, err)
	}
	return d, nil
}
