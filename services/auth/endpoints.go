package auth

import (
	"io"
	"net/http"

	"herald/services/auth/internal/discovery"
	"herald/services/auth/internal/keys"
)

// endpoints returns what answers programs. Each endpoint that clients find by discovery has its part here, also those
// that are pages.
func endpoints(issuer string, languages []string, signing *keys.Keys) (http.Handler, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", unknownEndpoint)
	document, err := discovery.Document(issuer, []discovery.Part{
		discovery.Server(languages), discovery.Keys(keys.IDToken().Algorithm()),
	})
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
