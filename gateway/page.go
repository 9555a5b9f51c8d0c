package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/contract"
	heraldv1 "herald/shared/gen/herald/v1"
)

// maxForm is how many bytes a form that is posted to a page may have.
const maxForm = 64 << 10

// page is a path prefix, and the method that gets the requests to it.
type page struct {
	*method
	route
	prefix            string
	request, response protoreflect.FieldDescriptor
	// headers copies the headers that the service may read into its request.
	headers func(*heraldv1.HttpRequest, http.Header) error
}

// mountPages adds the pages of a method.
func (e *edge) mountPages(d contract.Method, m *method) error {
	for _, prefix := range d.Pages {
		p := &page{method: m, prefix: prefix, headers: headersOfPeople,
			request: wrapped(m.in, &heraldv1.HttpRequest{}), response: wrapped(m.out, &heraldv1.HttpResponse{})}
		p.route = route{form: asPage, serve: func(x *exchange, r *http.Request) { e.browse(x, r, p) }}
		if d.Programs {
			serve := func(x *exchange, r *http.Request) { e.serveProgram(x, r, p) }
			p.headers, p.route = headersOfPrograms, route{form: asOAuth, serve: serve, open: true}
		}
		if p.request == nil || p.response == nil || !strings.HasPrefix(prefix, "/") {
			return errors.New("pages need a prefix that begins with /, an HttpRequest and an HttpResponse")
		}
		same := func(other *page) bool { return other.prefix == prefix && other.safe == p.safe }
		if slices.ContainsFunc(e.pages, same) {
			return fmt.Errorf("another method has the pages below %s", prefix)
		}
		e.pages = append(e.pages, p)
	}
	slices.SortFunc(e.pages, func(a, b *page) int {
		if a.prefix == b.prefix && a.safe {
			return -1
		}
		return len(b.prefix) - len(a.prefix)
	})
	return nil
}

// owns reports whether the path of a request is the prefix or below it, and the method takes the request.
func (p *page) owns(r *http.Request) bool {
	if p.safe && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	rest, below := strings.CutPrefix(r.URL.Path, p.prefix)
	return below && (rest == "" || rest[0] == '/' || strings.HasSuffix(p.prefix, "/"))
}

// wrapped returns the field of t that has the type of m; nil for none.
func wrapped(t protoreflect.MessageType, m proto.Message) protoreflect.FieldDescriptor {
	for i := range t.Descriptor().Fields().Len() {
		f := t.Descriptor().Fields().Get(i)
		if f.Message() != nil && !f.IsList() && f.Message().FullName() == m.ProtoReflect().Descriptor().FullName() {
			return f
		}
	}
	return nil
}

// browse passes a request to the service that owns the page, and returns its answer.
func (e *edge) browse(x *exchange, r *http.Request, p *page) {
	x.route = p.prefix
	answer, err := e.visit(x, r, p)
	if err != nil {
		x.fail(r, err)
		return
	}
	send(x, answer)
}

// send writes a service's answer.
func send(w http.ResponseWriter, answer *heraldv1.HttpResponse) {
	maps.Copy(w.Header(), headersOf(answer)) // they replace the gateway's headers of the same name
	w.WriteHeader(int(answer.Status))
	_, _ = w.Write(answer.Body) // the sender has gone
}

// headersOf returns the headers of an answer that are for the client.
func headersOf(answer *heraldv1.HttpResponse) http.Header {
	said := http.Header{}
	for _, h := range answer.Headers {
		if !hops[http.CanonicalHeaderKey(h.Name)] {
			said.Add(h.Name, h.Value)
		}
	}
	return said
}

func (e *edge) visit(x *exchange, r *http.Request, p *page) (*heraldv1.HttpResponse, error) {
	body, err := readBody(x, r, maxForm)
	if errors.Is(err, ErrMediaType) {
		return nil, ErrMediaType.Say("The body must be without Content-Encoding")
	} else if err != nil {
		return nil, err
	}
	if err := e.takeTurn(x, r); err != nil {
		return nil, err
	}
	request := &heraldv1.HttpRequest{
		Method: r.Method, Uri: r.URL.RequestURI(), Body: body, Client: e.proxies.client(r),
	}
	if err := p.headers(request, r.Header); err != nil {
		return nil, err
	}
	in := p.in.New()
	in.Set(p.request, protoreflect.ValueOfMessage(request.ProtoReflect()))
	data, err := proto.Marshal(in.Interface())
	if err != nil {
		return nil, err
	}
	answer, err := e.calls.Forward(r.Context(), p.procedure, data)
	if err != nil {
		return nil, err
	}
	out := p.out.New()
	if err := proto.Unmarshal(answer.Data, out.Interface()); err != nil {
		return nil, err
	}
	response := out.Get(p.response).Message().Interface().(*heraldv1.HttpResponse)
	if response.GetStatus() < 200 || response.GetStatus() > 599 {
		return nil, errors.New("the page has no status")
	}
	return response, nil
}

// peopleSend are the headers that pages may read. Host is not one of them: pages know their own
// origin from the configuration.
var peopleSend = []string{
	"Accept-Language", "Content-Type", "Cookie", "Origin",
	"Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-User", "User-Agent",
}

// hops are headers of one connection only, and headers that net/http sets.
var hops = map[string]bool{
	"Connection": true, "Content-Length": true, "Keep-Alive": true, "Proxy-Authenticate": true,
	"Proxy-Connection": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// headersOfPeople leaves out what protobuf cannot encode, such as a cookie of another program on the same host.
func headersOfPeople(m *heraldv1.HttpRequest, h http.Header) error {
	for _, name := range peopleSend {
		for _, v := range h[name] {
			if utf8.ValidString(v) {
				m.Headers = append(m.Headers, &heraldv1.HttpHeader{Name: name, Value: v})
			}
		}
	}
	return nil
}
