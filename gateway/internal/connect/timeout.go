package connect

import (
	"net/http"
	"strconv"
	"time"

	"herald/shared/gen/fault/gatewayfault"
)

// units are those of the header Grpc-Timeout.
var units = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second,
	'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}

// timeout removes the header that says how long the client waits for the answer, and returns that time. It is
// negative without such a header, and at most a day.
func timeout(h http.Header) (time.Duration, error) {
	number, unit, digits := h.Get("Connect-Timeout-Ms"), time.Millisecond, 10
	name := "Connect-Timeout-Ms"
	if g := h.Get("Grpc-Timeout"); g != "" {
		name, digits = "Grpc-Timeout", 8
		number, unit = g[:len(g)-1], units[g[len(g)-1]]
	}
	h.Del("Connect-Timeout-Ms")
	h.Del("Grpc-Timeout")
	if number == "" && name == "Connect-Timeout-Ms" {
		return -1, nil
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || unit == 0 || len(number) > digits {
		return 0, gatewayfault.ErrRequestMalformed.Say("The header %s is not a time", name)
	}
	const most = 24 * time.Hour
	if n > uint64(most/unit) {
		return most, nil
	}
	return time.Duration(n) * unit, nil
}
