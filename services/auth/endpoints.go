package auth

import (
	"io"
	"net/http"

	"herald/services/auth/internal/discovery"
	"herald/services/auth/internal/grants"
	"herald/services/auth/internal/keys"
	"herald/services/auth/internal/oauth"
	"herald/services/auth/internal/owners"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/tokens"
	"herald/shared/boot"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// endpoint is an endpoint for programs. Its part says what clients find by discovery.
type endpoint interface {
	Mount(*http.ServeMux)
	Part() discovery.Part
}

// endpoints returns what answers programs.
func endpoints(s *boot.Service, db store.Store, signing *keys.Keys, languages []string) (http.Handler, error) {
	issuer := s.PublicURL.String()
	own := owners.New(projectsv1.NewProjectsClient(s.Calls), usersv1.NewUsersClient(s.Calls))
	clients := oauth.Clients{Owners: own, Store: db, Issuer: issuer, Now: s.Now}
	issued := tokens.Tokens{Store: db, Keys: signing, Owners: own, Issuer: issuer, Now: s.Now}
	mux := http.NewServeMux()
	mux.HandleFunc("/", unknownEndpoint)
	parts := []discovery.Part{discovery.Server(languages), discovery.Keys(keys.IDToken().Algorithm())}
	for _, e := range []endpoint{
		grants.New(grants.Config{Clients: clients, Tokens: issued, Log: s.Log, Metrics: s.Metrics}),
	} {
		e.Mount(mux)
		parts = append(parts, e.Part())
	}
	document, err := discovery.Document(issuer, parts)
	if err != nil {
		return nil, err
	}
	discovery.Mount(mux, document, signing.JWKS)
	return mux, nil
}

// unknownEndpoint answers a program whose path has no endpoint, with an error as RFC 6749 writes it (section 5.2).
func unknownEndpoint(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNotFound)
	_, _ = io.WriteString(w, `{"error":"invalid_request","error_description":"There is nothing at this address"}`)
}
