package frame

import (
	"net/http"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
)

// postsAMinute is how many posts of one address may fail or ask for a mail within a minute. It is more than a code or a
// password allows, because many people may share an address.
const postsAMinute = 60

// Posts counts the posts of people who have not logged in, by their address. A post that succeeds and asks for no mail
// does not count.
type Posts struct {
	*domain.Limit
	frame *Frame
}

// NewPosts returns the count for all pages.
func NewPosts(f *Frame, now func() time.Time) Posts {
	return Posts{domain.NewLimit(postsAMinute, time.Minute, now), f}
}

// Limited refuses the posts of an address that has sent too many. A post counts before it is answered, so that
// simultaneous ones cannot exceed the limit.
func (p Posts) Limited(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if wait := p.Take(r.RemoteAddr); wait > 0 {
			p.frame.TooMany(w, r, wait)
			return
		}
		next(w, r)
	}
}

// TooMany writes the page for a browser that has to wait.
func (f *Frame) TooMany(w http.ResponseWriter, r *http.Request, wait time.Duration) {
	w.Header().Set("Retry-After", fault.RetrySeconds(wait))
	f.Notice(w, r, http.StatusTooManyRequests, "away", "")
}
