package exchange

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

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

// Accepts reports whether the lists of an Accept or Accept-Encoding name a value, and not with weight 0 (RFC 9110,
// section 12.5). Ranges such as */* do not count.
func Accepts(lists []string, name string) bool {
	for _, list := range lists {
		for one := range strings.SplitSeq(list, ",") {
			value, parameters, _ := strings.Cut(one, ";")
			if strings.EqualFold(strings.TrimSpace(value), name) {
				return wanted(parameters)
			}
		}
	}
	return false
}

// wanted reports whether parameters have no weight, or one above 0.
func wanted(parameters string) bool {
	for one := range strings.SplitSeq(parameters, ";") {
		if name, q, _ := strings.Cut(one, "="); strings.EqualFold(strings.TrimSpace(name), "q") {
			weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return err == nil && weight > 0
		}
	}
	return true
}

// IsGRPC reports whether a request is gRPC or gRPC-Web, by its media type.
func IsGRPC(r *http.Request) bool { return strings.HasPrefix(MediaType(r), "application/grpc") }

// MaxDrained and DrainTime bound what is read of one body after its answer. A client that sends more loses its
// connection, or its stream of HTTP/2.
const (
	MaxDrained = 16 << 20
	DrainTime  = 5 * time.Second
)

// Body is the body of a request, and remembers whether all of it was read.
type Body struct {
	io.ReadCloser
	ended bool
}

// NewBody returns the body of a request.
func NewBody(r *http.Request) *Body { return &Body{r.Body, r.ContentLength == 0} }

// Read implements io.Reader.
func (b *Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

// Drain sends an answer and then reads what its client is still sending. Otherwise net/http would close the connection,
// or reset the stream of HTTP/2, with unread bytes, and clients that read only after they have sent everything would
// lose the answer.
func (b *Body) Drain(x *Exchange) {
	if b.ended {
		return
	}
	_ = http.NewResponseController(x).SetReadDeadline(time.Now().Add(DrainTime))
	x.Flush()
	_, _ = io.CopyN(io.Discard, b.ReadCloser, MaxDrained) // an error changes nothing: the answer is sent already
}
