// Package discovery serves the documents that clients read first: where the endpoints are, what they support, and with
// which keys tokens are signed. The documents contain only the parts that other packages contribute.
package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The paths of the documents and of the keys.
const (
	OpenIDPath = "/.well-known/openid-configuration"       // OpenID Connect Discovery section 4
	OAuthPath  = "/.well-known/oauth-authorization-server" // RFC 8414 section 3
	KeysPath   = "/oauth/v2/keys"
)

const (
	// documentAge is how long clients may keep a document.
	documentAge = time.Hour
	// keysAge is how long clients may keep the keys. After a key was removed before its time, clients may refuse the
	// tokens of the next key for this long.
	keysAge = 5 * time.Minute
)

// Part is what a package adds to the documents. Their members are those of RFC 8414 section 2, OpenID Connect
// Discovery section 3 and the registry of RFC 8414 section 7.1.
type Part struct {
	// Paths are paths of endpoints by members such as token_endpoint. A member may be in one part only.
	Paths map[string]string
	// Lists are the values of members such as grant_types_supported. Parts add to the same list.
	Lists map[string][]string
	// Flags are members that are true or false. Parts must agree on them.
	Flags map[string]bool
}

// Keys returns the part for the keys, which sign id tokens with an algorithm (RFC 7518 section 3.1).
func Keys(idTokens string) Part {
	return Part{
		Paths: map[string]string{"jwks_uri": KeysPath},
		Lists: map[string][]string{"id_token_signing_alg_values_supported": {idTokens}},
	}
}

// Server returns the part that concerns all endpoints. Languages are those of the pages.
func Server(languages []string) Part {
	return Part{
		Lists: map[string][]string{
			"subject_types_supported": {"public"},
			"claim_types_supported":   {"normal"},
			"ui_locales_supported":    languages,
		},
		// A client assumes request_uri_parameter_supported where a document does not say otherwise.
		Flags: map[string]bool{
			"request_parameter_supported":     false,
			"request_uri_parameter_supported": false,
			"claims_parameter_supported":      false,
		},
	}
}

// Document returns the metadata of an issuer as JSON. The issuer is the public URL without a slash at its end. It fails
// if two parts contradict each other, or contain an invalid path.
func Document(issuer string, parts []Part) ([]byte, error) {
	members := map[string]any{"issuer": issuer}
	lists := map[string][]string{}
	for _, p := range parts {
		for name, path := range p.Paths {
			if _, twice := members[name]; twice || !strings.HasPrefix(path, "/") {
				return nil, fmt.Errorf("discovery: %s is %q, and perhaps something else before", name, path)
			}
			members[name] = issuer + path
		}
		for name, flag := range p.Flags {
			if other, twice := members[name]; twice && other != flag {
				return nil, fmt.Errorf("discovery: %s is both true and false", name)
			}
			members[name] = flag
		}
		for name, values := range p.Lists {
			lists[name] = append(lists[name], values...)
		}
	}
	for name, values := range lists {
		if _, twice := members[name]; twice || len(values) == 0 {
			return nil, fmt.Errorf("discovery: %s has no values, or is not only a list", name)
		}
		members[name] = slices.Compact(slices.Sorted(slices.Values(values)))
	}
	return json.Marshal(members) // in the order of the members
}

// JWKS returns the keys as a JWK Set (RFC 7517 section 5). It reports whether others may keep them.
type JWKS func(context.Context) (keys []byte, current bool)

// Mount adds the documents and the keys to a mux.
func Mount(mux *http.ServeMux, document []byte, keys JWKS) {
	documents := shared(documentAge, func(context.Context) ([]byte, bool) { return document, true })
	mux.Handle(OpenIDPath, documents)
	mux.Handle(OAuthPath, documents)
	mux.Handle(KeysPath, shared(keysAge, keys))
}

// shared returns a handler for JSON that everybody may read, and keep for some time if it is current.
func shared(age time.Duration, read func(context.Context) (body []byte, current bool)) http.HandlerFunc {
	control := "public, max-age=" + strconv.Itoa(int(age.Seconds()))
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "application/json")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			h.Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusMethodNotAllowed)
			_, _ = w.Write([]byte(notRead))
			return
		}
		body, current := read(r.Context())
		h.Set("Cache-Control", "no-store")
		if current {
			h.Set("Cache-Control", control)
		}
		_, _ = w.Write(body)
	}
}

// notRead is an error in the form of RFC 6749 section 5.2.
const notRead = `{"error":"invalid_request","error_description":"This address can only be read, with GET"}`
