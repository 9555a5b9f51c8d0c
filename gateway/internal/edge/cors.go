package edge

import (
	"net/http"
	"slices"
	"strings"

	"connectrpc.com/cors"

	"herald/gateway/internal/exchange"
)

var (
	allowedHeaders = strings.Join(slices.Concat(cors.AllowedHeaders(), []string{
		"Authorization", "X-Service-Orgid", "X-Request-Id", "Traceparent", "Accept-Language",
	}), ", ")
	exposedHeaders = strings.Join(slices.Concat(cors.ExposedHeaders(), []string{
		"X-Request-Id", "Content-Language", "WWW-Authenticate", "Retry-After",
	}), ", ")
)

// allowOrigin lets scripts of any origin use the API with a token. The API uses no cookies, so a page cannot act as its
// visitor. allowOrigin answers a preflight request and then reports true.
func allowOrigin(x *exchange.Exchange, r *http.Request) bool {
	if r.Header.Get("Origin") == "" {
		return false
	}
	h := x.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", exposedHeaders)
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", "7200")
	x.Route = "preflight"
	x.WriteHeader(http.StatusNoContent)
	return true
}
