// Package programs puts the endpoints for programs together, and the documents in which clients find them.
package programs

import (
	"io"
	"net/http"

	"herald/services/auth/internal/claims"
	"herald/services/auth/internal/device"
	"herald/services/auth/internal/discovery"
	"herald/services/auth/internal/grants"
	"herald/services/auth/internal/introspect"
	"herald/services/auth/internal/keys"
	"herald/services/auth/internal/oauth"
	"herald/services/auth/internal/tokens"
	"herald/services/auth/internal/userinfo"
	"herald/shared/boot"
)

// endpoint is an endpoint for programs. Its part says what clients find by discovery.
type endpoint interface {
	Mount(*http.ServeMux)
	Part() discovery.Part
}

// New returns what answers programs. The documents that clients find have the given parts too. What only checks tokens
// finds them by checked, which uses answers again for a moment; what issues them asks each time.
func New(s *boot.Service, issued, checked tokens.Tokens, parts ...discovery.Part) (http.Handler, error) {
	clients := oauth.Clients{Owners: issued.Owners, Store: issued.Store, Issuer: issued.Issuer, Now: s.Now}
	asking := clients
	asking.Owners = checked.Owners
	told := claims.Claims{Owners: checked.Owners}
	mux := http.NewServeMux()
	mux.HandleFunc("/", unknown)
	parts = append(parts, discovery.Keys(keys.IDToken().Algorithm()))
	for _, e := range []endpoint{
		grants.New(grants.Config{
			Clients: clients, Tokens: issued, Claims: claims.Claims{Owners: issued.Owners}, Log: s.Log,
			Metrics: s.Metrics,
		}),
		introspect.New(introspect.Config{
			Clients: asking, Tokens: checked, Claims: told, Log: s.Log, Metrics: s.Metrics,
		}),
		device.Endpoint{Clients: clients, Asks: device.NewAsks(s.Now), Log: s.Log},
		userinfo.Endpoint{Tokens: checked, Claims: told, Log: s.Log},
	} {
		e.Mount(mux)
		parts = append(parts, e.Part())
	}
	document, err := discovery.Document(issued.Issuer, parts)
	if err != nil {
		return nil, err
	}
	discovery.Mount(mux, document, issued.Keys.JWKS)
	return mux, nil
}

// unknown answers a program whose path has no endpoint, with an error as RFC 6749 writes it (section 5.2).
func unknown(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":"invalid_request","error_description":"There is nothing at this address"}`)
}
