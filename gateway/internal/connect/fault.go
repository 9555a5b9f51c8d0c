package connect

import (
	"errors"
	"net/http"

	connectrpc "connectrpc.com/connect"

	"herald/gateway/internal/exchange"
	"herald/shared/fault"
)

var faults = connectrpc.NewErrorWriter(connectrpc.WithCodec(frames{}))

// WriteFault writes a fault as gRPC, gRPC-Web or Connect do, by the request's media type. For other
// media types it writes the error body of REST.
func WriteFault(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	if r.Method != http.MethodPost || !isCall(r) {
		exchange.AsJSON(w, r, f)
		return
	}
	_ = faults.Write(w, r, connectError(f)) // fails if the client has closed the connection
}

// connectError returns a connect error with the fault's code, message and details.
func connectError(f *fault.Fault) *connectrpc.Error {
	s := f.Status()
	e := connectrpc.NewError(connectrpc.Code(s.Code), errors.New(s.Message))
	for _, d := range s.Details {
		if detail, err := connectrpc.NewErrorDetail(d); err == nil { // never fails for an Any
			e.AddDetail(detail)
		}
	}
	return e
}
