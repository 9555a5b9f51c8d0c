package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/gateway/authn"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/rpc"
)

// method is the part of a method's contract that its requests need.
type method struct {
	procedure  string
	in, out    protoreflect.MessageType
	public     bool
	permission string
	// safe reports whether the method changes nothing.
	safe bool
	need authn.Need
}

// mount adds the routes of all methods.
func (e *edge) mount(methods []contract.Method) error {
	e.mountRoutes()
	var services []string
	for _, d := range methods {
		if err := e.mountMethod(d); err != nil {
			return fmt.Errorf("contract of %s: %w", d.FullName(), err)
		}
		if !d.Internal() {
			services = append(services, string(d.Parent().FullName()))
		}
	}
	slices.Sort(services)
	return e.mountMeta(slices.Compact(services))
}

// mountMethod adds the routes and pages of a method. A method without a REST path is not
// served on any protocol; one with pages gets HTTP requests as they are.
func (e *edge) mountMethod(d contract.Method) error {
	m, err := newMethod(d)
	if err != nil {
		return err
	}
	if err := e.mountPages(d, m); err != nil {
		return err
	}
	for _, rule := range d.Rules {
		if err := e.mountREST(d, m, rule); err != nil {
			return err
		}
		e.mountProcedure(m.procedure, e.mountRPC(m))
	}
	return nil
}

func newMethod(d contract.Method) (*method, error) {
	in, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil {
		return nil, err
	}
	out, err := protoregistry.GlobalTypes.FindMessageByName(d.Output().FullName())
	if err != nil {
		return nil, err
	}
	need := authn.Need{Scopes: d.Scopes, Home: d.Home()}
	return &method{
		procedure: d.Procedure(), in: in, out: out, need: need, public: d.Access.Public,
		permission: d.Access.Permission, safe: d.Safe(),
	}, nil
}

func (e *edge) mountREST(d contract.Method, m *method, rule *annotations.HttpRule) error {
	verb, path, body := contract.Route(rule)
	if verb == "" || body != "" && body != "*" {
		return errors.New(`a REST path has GET, POST, PUT or DELETE, and body "*" or none`)
	}
	var ids []protoreflect.FieldDescriptor
	for _, name := range contract.PathFields(path) {
		f := m.in.Descriptor().Fields().ByTextName(name)
		if f == nil || f.Kind() != protoreflect.StringKind || f.IsList() {
			return fmt.Errorf("{%s} is no text field of the request", name)
		}
		ids = append(ids, f)
	}
	template := verb + " " + path
	serve := func(x *exchange, r *http.Request) { e.serveREST(x, r, &binding{m, body == "*", ids}) }
	if d.Streamed {
		var err error
		if serve, err = e.mountStream(d, m); err != nil {
			return err
		}
	}
	e.paths.add(path)
	e.rest.Handle(template, handler(func(x *exchange, r *http.Request) {
		if e.paths.misread(path, r) {
			e.unmatched(x, r)
			return
		}
		x.route, x.form = template, asJSON
		serve(x, r)
	}))
	return nil
}

// unmatched answers a request whose path or verb has no method.
func (e *edge) unmatched(x *exchange, r *http.Request) {
	var allowed []string
	for _, verb := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := *r
		other.Method = verb
		_, pattern := e.rest.Handler(&other)
		_, path, isMethod := strings.Cut(pattern, " ")
		if !isMethod || e.paths.misread(path, r) {
			continue
		}
		if allowed = append(allowed, verb); verb == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if len(allowed) > 0 {
		x.wrongVerb(r, allowed...)
		return
	}
	if r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(x, r, "/docs", http.StatusFound) // a browser, whose user knows only the address
		return
	}
	x.fail(r, notFound(r, contract.ErrNotFound.Say("There is nothing at this path; the documents are at /docs")))
}

// notFound returns the fault for a path with nothing at it. For gRPC it is ErrMethod, because
// the paths of gRPC are names of methods.
func notFound(r *http.Request, otherwise *fault.Fault) *fault.Fault {
	if isGRPC(r) {
		return ErrMethod
	}
	return otherwise
}

// authenticate finds the caller, unless the method is public. It reads nothing of the body.
func (e *edge) authenticate(x *exchange, r *http.Request, m *method) (err error) {
	if !m.public {
		x.pass, err = e.callers.Authenticate(e.clientLine(r.Context(), r), r.Header, m.need)
	}
	return err
}

// call forwards a request to its service. If the service refuses a cached caller, call resolves
// the token again and repeats the request: the caller may have been granted more meanwhile,
// and the refused request has changed nothing.
func (e *edge) call(ctx context.Context, m *method, pass authn.Pass, request []byte) (answer rpc.Answer, err error) {
	defer func() {
		if !m.safe {
			err = fault.AfterWrite(err)
		}
	}()
	answer, err = e.calls.Forward(rpc.WithSigned(ctx, pass.Header), m.procedure, request)
	if err == nil || !pass.Cached {
		return answer, err
	}
	if code := fault.From(err).Code; code != fault.Denied && code != fault.Unauthenticated {
		return answer, err
	}
	if pass, err = e.callers.Again(ctx, pass); err != nil {
		return rpc.Answer{}, err
	}
	return e.calls.Forward(rpc.WithSigned(ctx, pass.Header), m.procedure, request)
}
