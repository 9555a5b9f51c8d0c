// Package forward passes HTTP requests as they are to the services that own pages for people, and endpoints for
// programs such as those of OAuth 2.0.
package forward

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/exchange"
	"herald/shared/contract"
	"herald/shared/gen/fault/gatewayfault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Forwarder finds the pages and endpoints of requests.
type Forwarder struct {
	*dispatch.Dispatcher
	cache  *cache   // of endpoints for programs
	routes []*route // the longest prefix first
}

// New returns a Forwarder without pages and endpoints. The answers that everybody shares are kept for as long as epoch
// returns the same number.
func New(d *dispatch.Dispatcher, now func() time.Time, epoch func() uint64) *Forwarder {
	return &Forwarder{Dispatcher: d, cache: newCache(now, epoch)}
}

// route is a path prefix, and the method that gets the requests to it.
type route struct {
	*dispatch.Method
	exchange.Route
	prefix string
	// posts reports whether POST requests change nothing either.
	posts             bool
	request, response protoreflect.FieldDescriptor
	// headers copies the headers that the service may read into its request.
	headers func(*heraldv1.HttpRequest, http.Header) error
}

// Mount adds the pages and endpoints of a method.
func (f *Forwarder) Mount(d contract.Method, m *dispatch.Method) error {
	for i, prefix := range slices.Concat(d.Pages, d.Posts) {
		t := &route{Method: m, prefix: prefix, posts: i >= len(d.Pages), headers: copyPageHeaders,
			request: fieldOf(m.In, &heraldv1.HttpRequest{}), response: fieldOf(m.Out, &heraldv1.HttpResponse{})}
		serve := func(x *exchange.Exchange, r *http.Request) { f.serve(x, r, t) }
		t.Route = exchange.Route{Form: WritePage, Serve: serve}
		if d.Programs {
			serve = func(x *exchange.Exchange, r *http.Request) { f.serveShared(x, r, t) }
			t.headers, t.Route = copyProgramHeaders, exchange.Route{Form: writeOAuth, Serve: serve, Open: true}
		}
		if t.request == nil || t.response == nil || !strings.HasPrefix(prefix, "/") {
			return errors.New("pages need a prefix that begins with /, an HttpRequest and an HttpResponse")
		}
		same := func(other *route) bool { return other.prefix == prefix && other.Safe == t.Safe }
		if slices.ContainsFunc(f.routes, same) {
			return fmt.Errorf("another method has the pages below %s", prefix)
		}
		f.routes = append(f.routes, t)
	}
	slices.SortFunc(f.routes, func(a, b *route) int {
		if a.prefix == b.prefix && a.Safe {
			return -1
		}
		return len(b.prefix) - len(a.prefix)
	})
	return nil
}

// fieldOf returns the field of t that has the type of m; nil if there is none.
func fieldOf(t protoreflect.MessageType, m proto.Message) protoreflect.FieldDescriptor {
	for i := range t.Descriptor().Fields().Len() {
		f := t.Descriptor().Fields().Get(i)
		if f.Message() != nil && !f.IsList() && f.Message().FullName() == m.ProtoReflect().Descriptor().FullName() {
			return f
		}
	}
	return nil
}

// Find returns the route of a request; nil if it belongs to no page and no endpoint.
func (f *Forwarder) Find(r *http.Request) *exchange.Route {
	for _, t := range f.routes {
		if t.owns(r) {
			return &t.Route
		}
	}
	return nil
}

// owns reports whether the path of a request is the prefix or below it, and the method takes the request.
func (t *route) owns(r *http.Request) bool {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead || t.posts && r.Method == http.MethodPost
	if t.Safe && !read {
		return false
	}
	rest, below := strings.CutPrefix(r.URL.Path, t.prefix)
	return below && (rest == "" || rest[0] == '/' || strings.HasSuffix(t.prefix, "/"))
}

// once returns the route for a request that works once. A safe method may get it twice, because Services sends it to
// all replicas if one does not answer in time, and the second would be refused.
func (f *Forwarder) once(t *route) *route {
	for _, other := range f.routes {
		if !other.Safe && strings.HasPrefix(t.prefix, other.prefix) {
			return other
		}
	}
	return t
}

// serve passes a request to its service and writes the answer.
func (f *Forwarder) serve(x *exchange.Exchange, r *http.Request, t *route) {
	x.Route = t.prefix
	answer, err := f.ask(x, r, t)
	if err != nil {
		x.Fail(r, err)
		return
	}
	write(x, answer)
}

// maxForm is how many bytes a form that is posted to a page may have.
const maxForm = 64 << 10

// ask passes a request to its service and returns the answer.
func (f *Forwarder) ask(x *exchange.Exchange, r *http.Request, t *route) (*heraldv1.HttpResponse, error) {
	body, err := exchange.ReadBody(x, r, maxForm)
	if errors.Is(err, gatewayfault.ErrMediaTypeNotSupported) {
		return nil, gatewayfault.ErrMediaTypeNotSupported.Say("The body must be without Content-Encoding")
	} else if err != nil {
		return nil, err
	}
	if t.posts && bytes.Contains(body, []byte("client_assertion")) {
		t = f.once(t)
	}
	if err := f.TakeTurn(x, r); err != nil {
		return nil, err
	}
	request := &heraldv1.HttpRequest{Method: r.Method, Uri: r.URL.RequestURI(), Body: body, Client: x.Client}
	if err := t.headers(request, r.Header); err != nil {
		return nil, err
	}
	in := t.In.New()
	in.Set(t.request, protoreflect.ValueOfMessage(request.ProtoReflect()))
	data, err := proto.Marshal(in.Interface())
	if err != nil {
		return nil, err
	}
	answer, err := f.Services.Forward(r.Context(), t.Procedure, data)
	if err != nil {
		return nil, err
	}
	out := t.Out.New()
	if err := proto.Unmarshal(answer.Data, out.Interface()); err != nil {
		return nil, err
	}
	response := out.Get(t.response).Message().Interface().(*heraldv1.HttpResponse)
	if response.GetStatus() < 200 || response.GetStatus() > 599 {
		return nil, errors.New("the page has no status")
	}
	return response, nil
}

// write writes a service's answer.
func write(w http.ResponseWriter, answer *heraldv1.HttpResponse) {
	maps.Copy(w.Header(), headersOf(answer)) // they replace the gateway's headers of the same name
	w.WriteHeader(int(answer.Status))
	_, _ = w.Write(answer.Body) // fails if the client has closed the connection
}

// connectionHeaders are headers of one connection only, and headers that net/http sets.
var connectionHeaders = map[string]bool{
	"Connection": true, "Content-Length": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// headersOf returns the headers of an answer that are for the client.
func headersOf(answer *heraldv1.HttpResponse) http.Header {
	all := http.Header{}
	for _, h := range answer.Headers {
		if !connectionHeaders[http.CanonicalHeaderKey(h.Name)] {
			all.Add(h.Name, h.Value)
		}
	}
	return all
}
