package session

import (
	"net/http"
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
