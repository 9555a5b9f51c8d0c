package domain

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"herald/shared/gen/fault/usersfault"
)

// EventPosition is a place in the list of the events of all services: by time, then by service, then by the position
// in the service.
type EventPosition struct {
	Time     time.Time
	Service  string
	Position int64
}

// String returns the position as API callers see it: microseconds since 1970, the service and the position, such as
// 1764220000000000.users.42.
func (p EventPosition) String() string {
	return fmt.Sprintf("%d.%s.%d", p.Time.UnixMicro(), p.Service, p.Position)
}

// ParseEventPosition returns the position that String wrote, or a fault.
func ParseEventPosition(text string) (EventPosition, error) {
	micros, rest, _ := strings.Cut(text, ".")
	service, position, _ := strings.Cut(rest, ".")
	at, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return EventPosition{}, usersfault.ErrEventPositionInvalid
	}
	n, err := strconv.ParseInt(position, 10, 64)
	if err != nil {
		return EventPosition{}, usersfault.ErrEventPositionInvalid
	}
	p := EventPosition{time.UnixMicro(at).UTC(), service, n}
	if at < 0 || at > lastMicro || p.String() != text {
		return EventPosition{}, usersfault.ErrEventPositionInvalid
	}
	return p, nil
}

// lastMicro is the end of the year 9999, after which Postgres and protobuf have no times.
const lastMicro = 253402300799999999

// In returns the position of the same place in the events of one service: all its events after it come after p.
func (p EventPosition) In(service string, asc bool) int64 {
	switch order := cmp.Compare(service, p.Service); {
	case order == 0:
		return p.Position
	case order < 0 == asc: // events of this time were before p
		if asc {
			return math.MaxInt64
		}
		return 0
	case asc:
		return 0
	default:
		return math.MaxInt64
	}
}

// Compare orders positions, the oldest first.
func (p EventPosition) Compare(other EventPosition) int {
	return cmp.Or(p.Time.Compare(other.Time), cmp.Compare(p.Service, other.Service),
		cmp.Compare(p.Position, other.Position))
}
