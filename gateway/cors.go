package gateway

import (
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/cors"
)

var (
	crossHeaders = strings.Join(slices.Concat(cors.AllowedHeaders(), []string{
		"Authorization", "X-Service-Orgid", "X-Request-Id", "Traceparent", "Accept-Language",
	}), ", ")
	crossExposed = strings.Join(slices.Concat(cors.ExposedHeaders(), []string{
		"X-Request-Id", "Content-Language", "WWW-Authenticate", "Retry-After",
	}), ", ")
)

// cross lets scripts of any origin use the API with a token. The API has no cookies, so a page
// can do nothing there in its visitor's name. cross answers a preflight and reports true for it.
func cross(x *exchange, r *http.Request) bool {
	if r.Header.Get("Origin") == "" {
		return false
	}
	h := x.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", crossExposed)
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
	h.Set("Access-Control-Allow-Headers", crossHeaders)
	h.Set("Access-Control-Max-Age", "7200")
	x.route = "preflight"
	x.WriteHeader(http.StatusNoContent)
	return true
}
