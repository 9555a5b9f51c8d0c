package gateway

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/gateway/transcode"
	"herald/shared/contract"
)

// maxBody is how many bytes a request's message may have; answers may be larger.
const maxBody = 1 << 20

// binding is how a method's request is read at one of its REST paths.
type binding struct {
	*method
	body bool
	ids  []protoreflect.FieldDescriptor
}

// answers keeps buffers of up to largest bytes that have grown, because the size of an answer
// is not known before it is encoded.
var answers = sync.Pool{New: func() any { return new([]byte) }}

const largest = 1 << 20

func (e *edge) serveREST(x *exchange, r *http.Request, b *binding) {
	answer, err := e.tryREST(x, r, b)
	if err != nil {
		x.fail(r, err)
		return
	}
	buffer := answers.Get().(*[]byte)
	body, err := transcode.Encode((*buffer)[:0], answer)
	if err != nil {
		x.fail(r, err)
		return
	}
	body = append(body, '\n') // so that a terminal shows the prompt on a line of its own
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(body) // the sender has gone
	if *buffer = body; cap(body) <= largest {
		answers.Put(buffer)
	}
}

func (e *edge) tryREST(x *exchange, r *http.Request, b *binding) (proto.Message, error) {
	if err := e.authenticate(x, r, b.method); err != nil {
		return nil, err
	}
	body, err := b.readBody(x, r)
	if err != nil {
		return nil, err
	}
	if err := e.takeTurn(x, r); err != nil {
		return nil, err
	}
	request, err := b.message(body, r)
	if err != nil {
		return nil, err
	}
	answer, err := e.call(r.Context(), b.method, x.pass, request)
	if err != nil {
		return nil, err
	}
	m := b.out.New().Interface()
	if err := proto.Unmarshal(answer.Data, m); err != nil {
		return nil, err
	}
	copyHeaders(x.Header(), answer.Header)
	return m, nil
}

// readBody reads the body, if the method takes one.
func (b *binding) readBody(x *exchange, r *http.Request) ([]byte, error) {
	if !b.body {
		return nil, nil
	}
	if err := takesJSON(r); err != nil {
		return nil, err
	}
	return readBody(x, r, maxBody)
}

// message makes the request's message from the body or the query, and from the path. A field of
// the path takes precedence.
func (b *binding) message(body []byte, r *http.Request) ([]byte, error) {
	in := b.in.New()
	if b.body {
		if err := transcode.Decode(body, in.Interface()); err != nil {
			return nil, err
		}
	} else if err := transcode.Query(r.URL.RawQuery, in.Interface()); err != nil {
		return nil, err
	}
	for _, f := range b.ids {
		id := r.PathValue(string(f.Name()))
		if !utf8.ValidString(id) { // protobuf cannot encode it; the service checks the rest
			return nil, contract.ErrNotFound
		}
		in.Set(f, protoreflect.ValueOfString(id))
	}
	return proto.Marshal(in.Interface())
}

// readBody reads a whole body that is not compressed.
func readBody(x *exchange, r *http.Request, limit int64) ([]byte, error) {
	for _, name := range []string{"Content-Encoding", "Grpc-Encoding"} {
		if v := r.Header.Get(name); v != "" && v != "identity" {
			return nil, ErrMediaType
		}
	}
	if r.ContentLength > limit {
		return nil, ErrBody
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.ResponseWriter, r.Body, limit))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, ErrBody
	}
	if err != nil {
		return nil, ErrRequest.Because(err)
	}
	return body, nil
}

// takesJSON refuses a body that is not to be read as JSON, before anything of it counts. An empty body
// may have any media type. Those of gRPC in the specification are accepted if the body is JSON: the
// first byte of a gRPC frame is none with which JSON begins.
func takesJSON(r *http.Request) error {
	t := mediaType(r)
	framed := t == "application/grpc" || t == "application/grpc-web+proto"
	switch {
	case t == "", t == "application/json", strings.HasSuffix(t, "+json"), r.ContentLength == 0:
		return nil
	case r.ContentLength > 0 && !framed:
		return ErrMediaType
	}
	body := bufio.NewReader(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	first, _ := body.Peek(1) // none of an empty body, and of one that breaks off, which readBody finds
	if len(first) == 0 ||
		framed && (first[0] >= ' ' && first[0] < utf8.RuneSelf || strings.IndexByte("\t\r\n", first[0]) >= 0) {
		return nil
	}
	return ErrMediaType
}

// copyHeaders copies the headers that a service set for the HTTP client.
func copyHeaders(to, from http.Header) {
	for name, values := range from {
		to[name] = values
	}
}
