package session

import (
	"net/http"
	"time"

	"herald/services/auth/internal/domain"
)

// RequestCookie holds the id of the client's request for which a browser has left the login for a mail. The id gives
// nobody a right.
const RequestCookie = "__Host-herald-request"

// keptRequest is how long requests wait for a login.
const keptRequest = time.Hour

// KeepRequest makes the browser keep the request for which somebody logs in, until a mail leads back.
func (s Sessions) KeepRequest(w http.ResponseWriter, id string) {
	set(w, RequestCookie, id, keptRequest)
}

// KeptRequest returns the id of the request that a browser has kept, or "". Anybody may have written it.
func (s Sessions) KeptRequest(r *http.Request) string {
	c, err := r.Cookie(RequestCookie)
	if err != nil || len(c.Value) > domain.MaxRequest {
		return ""
	}
	return c.Value
}

// NewCookie marks a browser whose person has just activated the account.
const NewCookie = "__Host-herald-new"

// MarkNew marks a browser whose person has just activated the account, until the first login. The mark gives nobody a
// right.
func (s Sessions) MarkNew(w http.ResponseWriter) { set(w, NewCookie, "1", keptRequest) }

// TakeNew reports whether a browser has the mark, and removes it.
func (s Sessions) TakeNew(w http.ResponseWriter, r *http.Request) bool {
	if _, err := r.Cookie(NewCookie); err != nil {
		return false
	}
	set(w, NewCookie, "", -1)
	return true
}
