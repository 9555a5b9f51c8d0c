// Package httpbridge turns the requests that the gateway forwards over NATS into requests of an http.Handler. Their
// Host is always the same, so that no answer can contain a host that a client or proxy has sent.
package httpbridge

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

const (
	// maxBody is in bytes, far more than any form has.
	maxBody = 64 << 10
	// host is a name that no site can have (RFC 6761 section 6.4). If it were empty, "Origin: null"
	// would count as the same origin.
	host = "host.invalid"
	// reserve is the part of a browser's time limit that is kept for the page that says that another service does not
	// answer. Without it the gateway would answer first, with a page that is not in the person's language and branding.
	reserve = 500 * time.Millisecond
)

// Bridge has the service's methods for HTTP requests. A method fails if its message is not an HTTP request.
type Bridge struct {
	// Browsers answers browsers, Programs the clients of OAuth 2.0 and OpenID Connect.
	Browsers, Programs http.Handler
}

// OpenPage passes a browser's request that changes nothing to its handler.
func (p Bridge) OpenPage(ctx context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	return p.ServePage(ctx, r)
}

// OpenEndpoint passes a program's request that changes nothing to its handler.
func (p Bridge) OpenEndpoint(
	ctx context.Context, r *authv1.ServeEndpointRequest,
) (*authv1.ServeEndpointResponse, error) {
	return p.ServeEndpoint(ctx, r)
}

// ServePage passes a browser's request to its handler.
func (p Bridge) ServePage(ctx context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	if end, limited := ctx.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-reserve))
		defer cancel()
	}
	out, err := serve(ctx, p.Browsers, r.GetRequest())
	return &authv1.ServePageResponse{Response: out}, err
}

// ExternalPage passes a browser's request on the way to an identity provider or back to its handler.
func (p Bridge) ExternalPage(ctx context.Context, r *authv1.ServePageRequest) (*authv1.ServePageResponse, error) {
	return p.ServePage(ctx, r)
}

// ServeEndpoint passes a program's request to its handler.
func (p Bridge) ServeEndpoint(
	ctx context.Context, r *authv1.ServeEndpointRequest,
) (*authv1.ServeEndpointResponse, error) {
	out, err := serve(ctx, p.Programs, r.GetRequest())
	return &authv1.ServeEndpointResponse{Response: out}, err
}

func serve(ctx context.Context, h http.Handler, m *heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
	in, err := request(ctx, m)
	if err != nil {
		return nil, err
	}
	out := &answer{header: http.Header{}}
	in.Body = http.MaxBytesReader(out, in.Body, maxBody)
	h.ServeHTTP(out, in)
	return out.message(), nil
}

func request(ctx context.Context, m *heraldv1.HttpRequest) (*http.Request, error) {
	// A URI with a scheme would be a request to a proxy (RFC 9112 section 3.2.2).
	u, err := url.ParseRequestURI(m.GetUri())
	if err != nil || u.IsAbs() || !strings.HasPrefix(u.Path, "/") {
		return nil, fault.ErrInvalidArgument.Because(err)
	}
	r := &http.Request{
		Method: m.GetMethod(), URL: u, RequestURI: m.GetUri(), Host: host, Header: http.Header{},
		RemoteAddr: m.GetClient(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(m.GetBody())), ContentLength: int64(len(m.GetBody())),
	}
	for _, h := range m.GetHeaders() {
		r.Header.Add(h.GetName(), h.GetValue())
	}
	return r.WithContext(ctx), nil
}

// answer is an http.ResponseWriter that keeps the response in memory.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

func (a *answer) message() *heraldv1.HttpResponse {
	a.WriteHeader(http.StatusOK)
	m := &heraldv1.HttpResponse{Status: int32(a.status), Body: a.body.Bytes()}
	for name, values := range a.header {
		for _, v := range values {
			m.Headers = append(m.Headers, &heraldv1.HttpHeader{Name: name, Value: v})
		}
	}
	return m
}
