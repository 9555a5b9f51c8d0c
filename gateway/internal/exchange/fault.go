package exchange

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

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

// Form writes a fault in the format of the request's protocol.
type Form func(http.ResponseWriter, *http.Request, *fault.Fault)

// AsJSON writes the error body of REST.
func AsJSON(w http.ResponseWriter, _ *http.Request, f *fault.Fault) {
	body := EncodeFault(f)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.HTTPStatus())
	_, _ = w.Write(body) // fails if the client has closed the connection
}

// EncodeFault returns the error body of REST, a line of JSON. It removes the white space that protojson
// varies from build to build.
func EncodeFault(f *fault.Fault) []byte {
	var body bytes.Buffer
	text, err := protojson.Marshal(f.Status())
	if err != nil || json.Compact(&body, text) != nil {
		return EncodeFault(fault.ErrInternal)
	}
	return append(body.Bytes(), '\n')
}
