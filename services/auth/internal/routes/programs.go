package routes

import (
	"io"
	"net/http"

	"herald/services/auth/internal/oauth/accesstoken"
	"herald/services/auth/internal/oauth/claims"
	"herald/services/auth/internal/oauth/device"
	"herald/services/auth/internal/oauth/discovery"
	"herald/services/auth/internal/oauth/introspect"
	"herald/services/auth/internal/oauth/protocol"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/oauth/token"
	"herald/services/auth/internal/oauth/userinfo"
	"herald/shared/boot"
)

// endpoint is an endpoint for programs. Part returns what clients find by discovery.
type endpoint interface {
	Mount(*http.ServeMux)
	Part() discovery.Part
}

// Programs returns the handler for programs. The discovery documents contain parts too. Endpoints that only check
// tokens use cached, whose answers may be up to 2 s old. Endpoints that issue tokens do not use cached answers.
func Programs(s *boot.Service, issued, cached accesstoken.Tokens, parts ...discovery.Part) (http.Handler, error) {
	clients := protocol.Clients{Upstream: issued.Upstream, Store: issued.Store, Issuer: issued.Issuer, Now: s.Now}
	cachedClients := clients
	cachedClients.Upstream = cached.Upstream
	cachedClaims := claims.Claims{Upstream: cached.Upstream}
	mux := http.NewServeMux()
	mux.HandleFunc("/", unknown)
	parts = append(parts, discovery.Keys(signing.IDToken().Algorithm()))
	for _, e := range []endpoint{
		token.New(token.Config{
			Clients: clients, Tokens: issued, Claims: claims.Claims{Upstream: issued.Upstream}, Log: s.Log,
			Metrics: s.Metrics,
		}),
		introspect.New(introspect.Config{
			Clients: cachedClients, Tokens: cached, Claims: cachedClaims, Log: s.Log, Metrics: s.Metrics,
		}),
		device.Endpoint{Clients: clients, Asks: device.NewAsks(s.Now), Log: s.Log},
		userinfo.Endpoint{Tokens: cached, Claims: cachedClaims, Log: s.Log},
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

// unknown answers a program whose path has no endpoint, with an error in the form of RFC 6749 section 5.2.
func unknown(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":"invalid_request","error_description":"There is nothing at this address"}`)
}
