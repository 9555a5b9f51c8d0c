package exchange

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"herald/shared/gen/fault/gatewayfault"
)

// MaxBody is how many bytes a request's message may have; answers may be larger.
const MaxBody = 1 << 20

// ReadBody reads a whole body that is not compressed.
func ReadBody(x *Exchange, r *http.Request, limit int64) ([]byte, error) {
	for _, name := range []string{"Content-Encoding", "Grpc-Encoding"} {
		if v := r.Header.Get(name); v != "" && v != "identity" {
			return nil, gatewayfault.ErrMediaTypeNotSupported
		}
	}
	if r.ContentLength > limit {
		return nil, gatewayfault.ErrBodyTooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.ResponseWriter, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, gatewayfault.ErrBodyTooLarge
	}
	if err != nil {
		return nil, gatewayfault.ErrRequestMalformed.Because(err)
	}
	return body, nil
}

// MediaType returns the request's media type in lower case, without parameters. It is empty if the
// request has none, and "?" if it has two or a malformed one.
func MediaType(r *http.Request) string {
	values := r.Header["Content-Type"]
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return ""
	}
	name, _, _ := strings.Cut(values[0], ";")
	name = strings.ToLower(strings.TrimSpace(name))
	if _, _, err := mime.ParseMediaType(name); err != nil || len(values) > 1 {
		return "?"
	}
	return name
}

// IsGRPC reports whether a request is gRPC or gRPC-Web, by its media type.
func IsGRPC(r *http.Request) bool { return strings.HasPrefix(MediaType(r), "application/grpc") }
