package exchange

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"

	"herald/shared/fault"
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
