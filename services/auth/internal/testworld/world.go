// Package testworld runs the service auth for tests of its pages and endpoints, with stand-ins for the other services.
package testworld

import (
	"io"
	"net/http"
	"testing"
	"time"

	"herald/services/auth"
	"herald/shared/boot"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
	"herald/shared/testkit"
)

// Kit is the database server of the tests of one package.
var Kit = testkit.New("auth", auth.Migrations)

// Public is the address of the pages.
const Public = "https://login.example.com"

// Start runs the service at an address, without others. A list has at most so many entries.
func Start(t *testing.T, g boot.Ground, publicURL string, most int64) *boot.Service {
	t.Helper()
	address, err := boot.ParsePublicURL(publicURL)
	if err != nil {
		t.Fatal(err)
	}
	g.PublicURL = address
	s := Kit.Open(t, g)
	ShareKeys(t, s)
	// A user may have more sessions than tests begin at once, and fewer than TestOldestSessionEnds.
	config := Config()
	config.MaxLimit, config.Quotas = most, "sessions=9"
	if err := auth.New(t.Context(), s, config); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, s)
	return s
}

// Config returns settings like those of an instance that sets none.
func Config() auth.Config {
	return auth.Config{
		Limit:         search.Limit{MaxLimit: 1000},
		AuditSettings: boot.AuditSettings{AuditKeep: 365 * 24 * time.Hour},
	}
}

// Open runs the service without others and returns its pages as a browser gets them.
func Open(t *testing.T, g boot.Ground, publicURL string) http.Handler {
	t.Helper()
	Start(t, g, publicURL, 1000)
	return NewEdge(t, g)
}

// New runs the service with stand-ins for users and text.
func New(t *testing.T) (http.Handler, *Users, *Text) {
	t.Helper()
	g, u := testkit.Ground(t), &Users{}
	pages := Open(t, g, Public)
	ServeUsers(t, g, u)
	return pages, u, ServeText(t, g)
}

// Edge forwards requests as the gateway does.
type Edge struct{ Auth authv1.AuthClient }

// NewEdge returns the edge of a service.
func NewEdge(t *testing.T, g boot.Ground) Edge {
	t.Helper()
	return Edge{authv1.NewAuthClient(testkit.Calls(t, g, "gateway"))}
}

// ServeHTTP implements http.Handler for pages.
func (e Edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	forward(w, r, func(in *heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		out, err := e.Auth.ServePage(r.Context(), &authv1.ServePageRequest{Request: in})
		return out.GetResponse(), err
	})
}

// ServeProgram forwards a request for an endpoint.
func (e Edge) ServeProgram(w http.ResponseWriter, r *http.Request) {
	forward(w, r, func(in *heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		out, err := e.Auth.ServeEndpoint(r.Context(), &authv1.ServeEndpointRequest{Request: in})
		return out.GetResponse(), err
	})
}

func forward(
	w http.ResponseWriter, r *http.Request, serve func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error),
) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	in := &heraldv1.HttpRequest{Method: r.Method, Uri: r.URL.RequestURI(), Body: body, Client: r.RemoteAddr}
	for name, values := range r.Header {
		for _, v := range values {
			in.Headers = append(in.Headers, &heraldv1.HttpHeader{Name: name, Value: v})
		}
	}
	out, err := serve(in)
	if err != nil {
		http.Error(w, err.Error(), fault.From(err).HTTPStatus())
		return
	}
	for _, h := range out.Headers {
		w.Header().Add(h.Name, h.Value)
	}
	w.WriteHeader(int(out.Status))
	_, _ = w.Write(out.Body)
}
