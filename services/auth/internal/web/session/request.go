package session

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"herald/services/auth/internal/domain"
)

// RequestCookie holds the id of the client's request while the person reads a mail during the login. The id gives no
// rights.
const RequestCookie = "__Host-herald-request"

// keptRequest is how long requests wait for a login.
const keptRequest = time.Hour

// KeepRequest stores the id of the client's request in the browser, until the link of a mail leads back to the login.
func (s Sessions) KeepRequest(w http.ResponseWriter, id string) {
	set(w, RequestCookie, id, keptRequest)
}

// KeptRequest returns the id of the request that a browser has kept, or "". It must not be trusted.
func (s Sessions) KeptRequest(r *http.Request) string {
	c, err := r.Cookie(RequestCookie)
	if err != nil || len(c.Value) > domain.MaxRequest {
		return ""
	}
	return c.Value
}

// cookiePrefix begins the names of all cookies of Herald, and cookiesCookie is one without a meaning.
const (
	cookiePrefix  = "__Host-herald-"
	cookiesCookie = cookiePrefix + "cookies"
)

// TryCookies sets a cookie with a page that begins a login, if the browser has sent none, so that the answer to the
// page's form can say that the browser keeps no cookies.
func TryCookies(w http.ResponseWriter, r *http.Request) {
	if !TakesCookies(r) {
		set(w, cookiesCookie, "1", browserLifetime)
	}
}

// TakesCookies reports whether a browser has sent any cookie of Herald.
func TakesCookies(r *http.Request) bool {
	return slices.ContainsFunc(r.Cookies(), func(c *http.Cookie) bool {
		return strings.HasPrefix(c.Name, cookiePrefix)
	})
}

// NewCookie marks a browser whose person has just activated the account.
const NewCookie = "__Host-herald-new"

// MarkNew marks a browser whose person has just activated the account, until the first login. The mark gives no rights.
func (s Sessions) MarkNew(w http.ResponseWriter) { set(w, NewCookie, "1", keptRequest) }

// TakeNew reports whether a browser has the mark, and removes it.
func (s Sessions) TakeNew(w http.ResponseWriter, r *http.Request) bool {
	if _, err := r.Cookie(NewCookie); err != nil {
		return false
	}
	set(w, NewCookie, "", -1)
	return true
}
