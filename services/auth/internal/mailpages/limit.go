package mailpages

import (
	"net/http"
	"time"

	"herald/shared/limit"
)

// postsAMinute is how many posts of one client may fail or ask for a mail within a minute. It is more than
// a code allows, because many people may share an address.
const postsAMinute = 60

// NewPosts returns the limit for Pages.Posts.
func NewPosts(now func() time.Time) *limit.Limit { return limit.New(postsAMinute, time.Minute, now) }

// limited refuses the posts of a client that had too many. A post counts before it is answered, so that
// simultaneous ones cannot exceed the limit; one that succeeds and asks for no mail is taken back.
func (p Pages) limited(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if wait := p.Posts.Take(r.RemoteAddr); wait > 0 {
			retryAfter(w, wait)
			p.Look.Notice(w, r, http.StatusTooManyRequests, "away", "")
			return
		}
		next(w, r)
	}
}
