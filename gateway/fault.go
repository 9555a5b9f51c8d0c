package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/shared/fault"
)

// Faults of the gateway itself.
var (
	ErrMethod  = fault.New(fault.Unimplemented, "METHOD_UNKNOWN", "There is no such method")
	ErrVerb    = fault.New(fault.Unimplemented, "VERB_NOT_ALLOWED", "The path exists, but not for this HTTP method")
	ErrRequest = fault.New(fault.Invalid, "REQUEST_MALFORMED", "The HTTP request is malformed")
	ErrHeaders = fault.New(fault.Invalid, "HEADERS_TOO_LARGE", "The headers are larger than 16 KiB").
			WithStatus(http.StatusRequestHeaderFieldsTooLarge)
	ErrBody = fault.New(fault.Invalid, "BODY_TOO_LARGE", "The body is larger than allowed").
		WithStatus(http.StatusRequestEntityTooLarge)
	ErrMediaType = fault.New(fault.Invalid, "MEDIA_TYPE_NOT_SUPPORTED",
		"The body must be application/json, without Content-Encoding").WithStatus(http.StatusUnsupportedMediaType)
)

// form writes a fault in the format of the request's protocol.
type form func(http.ResponseWriter, *http.Request, *fault.Fault)

// asJSON writes the error body of REST.
func asJSON(w http.ResponseWriter, _ *http.Request, f *fault.Fault) {
	body := encodeFault(f)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.HTTPStatus())
	_, _ = w.Write(body)
}

// encodeFault returns a fault as a line of JSON. It removes the white space that protojson varies from
// build to build.
func encodeFault(f *fault.Fault) []byte {
	var body bytes.Buffer
	text, err := protojson.Marshal(f.Status())
	if err != nil || json.Compact(&body, text) != nil {
		return encodeFault(fault.ErrInternal)
	}
	return append(body.Bytes(), '\n')
}

var rpcErrors = connect.NewErrorWriter(connect.WithCodec(frames{}))

// asRPC writes a fault as gRPC, gRPC-Web or Connect do, by the request's media type. For other
// media types it writes the error body of REST.
func asRPC(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	if r.Method != http.MethodPost || !rpcMediaType(r) {
		asJSON(w, r, f)
		return
	}
	_ = rpcErrors.Write(w, r, rpcError(f)) // the sender has gone
}

// rpcError returns a connect error with the fault's code, message and details.
func rpcError(f *fault.Fault) *connect.Error {
	s := f.Status()
	e := connect.NewError(connect.Code(s.Code), errors.New(s.Message))
	for _, d := range s.Details {
		if detail, err := connect.NewErrorDetail(d); err == nil { // fails for no Any
			e.AddDetail(detail)
		}
	}
	return e
}

func isGRPC(r *http.Request) bool { return strings.HasPrefix(mediaType(r), "application/grpc") }

// mediaType returns the request's media type in lower case, without parameters. It is empty if the
// request names none, and "?" if it names two or what is none.
func mediaType(r *http.Request) string {
	named := r.Header["Content-Type"]
	if len(named) == 0 || len(named) == 1 && named[0] == "" {
		return ""
	}
	name, _, _ := strings.Cut(named[0], ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if _, _, err := mime.ParseMediaType(name); err != nil || len(named) > 1 {
		return "?"
	}
	return name
}
