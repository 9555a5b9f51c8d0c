// Package rest serves methods at their REST paths: JSON in, JSON out.
package rest

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/exchange"
	"herald/gateway/transcode"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
)

// binding is a method at one of its REST paths.
type binding struct {
	*dispatch.Dispatcher
	*dispatch.Method
	body bool // whether the request is read from the body, else from the query
	ids  []protoreflect.FieldDescriptor
	// following is nil if the method's pages do not follow each other.
	following *following
}

// Handler returns the handler of a method at one of its REST paths.
func Handler(d *dispatch.Dispatcher, m *dispatch.Method, rule *annotations.HttpRule) (exchange.Handler, error) {
	_, path, body := contract.Route(rule)
	b := &binding{Dispatcher: d, Method: m, body: body == "*", following: followingOf(m.In.Descriptor(),
		m.Out.Descriptor())}
	for _, name := range contract.PathFields(path) {
		f := m.In.Descriptor().Fields().ByTextName(name)
		if f == nil || f.Kind() != protoreflect.StringKind || f.IsList() {
			return nil, fmt.Errorf("{%s} is no text field of the request", name)
		}
		b.ids = append(b.ids, f)
	}
	return b.serve, nil
}

// answers keeps buffers of up to largest bytes that have grown, because the size of an answer
// is not known before it is encoded.
var answers = sync.Pool{New: func() any { return new([]byte) }}

const largest = 1 << 20

func (b *binding) serve(x *exchange.Exchange, r *http.Request) {
	if b.following != nil && exchange.Accepts(r.Header.Values("Accept"), ndjson) {
		b.serveLines(x, r)
		return
	}
	answer, err := b.ask(x, r)
	if err != nil {
		x.Fail(r, err)
		return
	}
	buffer := answers.Get().(*[]byte)
	body, err := transcode.Encode((*buffer)[:0], answer)
	if err != nil {
		x.Fail(r, err)
		return
	}
	body = append(body, '\n') // so that a terminal shows the prompt on a line of its own
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(body) // fails if the client has closed the connection
	if *buffer = body; cap(body) <= largest {
		answers.Put(buffer)
	}
}

// ask sends the request to its service and returns the answer. The headers that the service set are copied.
func (b *binding) ask(x *exchange.Exchange, r *http.Request) (proto.Message, error) {
	body, err := b.readBody(x, r)
	if err != nil {
		return nil, err
	}
	if err := b.TakeTurn(x, r); err != nil {
		return nil, err
	}
	request, err := b.message(body, r)
	if err != nil {
		return nil, err
	}
	data, err := proto.Marshal(request.Interface())
	if err != nil {
		return nil, err
	}
	answer, err := b.Call(r.Context(), b.Method, x.Pass, data)
	if err != nil {
		return nil, err
	}
	m := b.Out.New().Interface()
	if err := proto.Unmarshal(answer.Data, m); err != nil {
		return nil, err
	}
	maps.Copy(x.Header(), answer.Header)
	return m, nil
}

// readBody finds the caller, and reads the body if the method takes one.
func (b *binding) readBody(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	if err := b.Authenticate(x, r, b.Method); err != nil {
		return nil, err
	}
	if !b.body {
		return nil, nil
	}
	if err := takesJSON(r); err != nil {
		return nil, err
	}
	return exchange.ReadBody(x, r, exchange.MaxBody)
}

// message makes the request's message from the body or the query, and from the path. A field of
// the path takes precedence.
func (b *binding) message(body []byte, r *http.Request) (protoreflect.Message, error) {
	in := b.In.New()
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
			return nil, fault.ErrNotFound
		}
		in.Set(f, protoreflect.ValueOfString(id))
	}
	return in, nil
}

// takesJSON refuses a body that cannot be JSON by its media type. An empty body may have any media type. The
// specification sends JSON with the media types of gRPC too. They are accepted if the first byte can begin JSON,
// which the first byte of a gRPC frame cannot.
func takesJSON(r *http.Request) error {
	t := exchange.MediaType(r)
	framed := t == "application/grpc" || t == "application/grpc-web+proto"
	switch {
	case t == "", t == "application/json", strings.HasSuffix(t, "+json"), r.ContentLength == 0:
		return nil
	case r.ContentLength > 0 && !framed:
		return gatewayfault.ErrMediaTypeNotSupported
	}
	body := bufio.NewReader(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	first, _ := body.Peek(1) // has no byte if the body is empty, or if reading fails, which readBody reports
	if len(first) == 0 ||
		framed && (first[0] >= ' ' && first[0] < utf8.RuneSelf || strings.IndexByte("\t\r\n", first[0]) >= 0) {
		return nil
	}
	return gatewayfault.ErrMediaTypeNotSupported
}
