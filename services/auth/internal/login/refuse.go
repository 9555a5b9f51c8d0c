package login

import (
	"math"
	"net/http"
	"time"

	"herald/services/auth/internal/look"
	"herald/shared/fault"
)

// Faults of users that have a page or a text of their own, by their stable ids.
const (
	loginWrong     = "LOGIN_WRONG"
	loginOver      = "LOGIN_OVER"
	passwordLocked = "PASSWORD_LOCKED"
	codeWrong      = "CODE_WRONG"
	factorWrong    = "FACTOR_WRONG"
	factorLocked   = "OTP_LOCKED"
)

// limited refuses the posts of a client that had too many. A post counts before it is answered, so that simultaneous
// ones cannot exceed the limit; one that succeeds is taken back.
func (p *Pages) limited(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if wait := p.Posts.Take(r.RemoteAddr); wait > 0 {
			w.Header().Set("Retry-After", fault.RetrySeconds(wait))
			p.Look.Notice(w, r, http.StatusTooManyRequests, "away", "")
			return
		}
		next(w, r)
	}
}

// notice writes a page that has only its texts.
func (p *Pages) notice(w http.ResponseWriter, v visit, status int, name string) {
	p.Look.Write(w, v.Request, look.Page{Status: status, Name: name, Body: look.NoticeBody, Data: "",
		Language: v.Language})
}

// failed writes the page for a fault about which the person can do nothing but wait.
func (p *Pages) failed(w http.ResponseWriter, v visit, err error) {
	f := fault.From(err)
	if f.RetryAfter > 0 {
		w.Header().Set("Retry-After", fault.RetrySeconds(f.RetryAfter))
	}
	retry := v.address(Path)
	switch {
	case f.ID == passwordLocked, f.ID == factorLocked:
		p.Look.Write(w, v.Request, look.Page{Status: f.HTTPStatus(), Name: "loginlocked", Body: lockedBody,
			Data: minutes(f.RetryAfter), Language: v.Language})
	case f.Code == fault.Unavailable, f.Code == fault.Deadline, f.Code == fault.Exhausted:
		p.Look.Write(w, v.Request, look.Page{Status: f.HTTPStatus(), Name: "away", Body: look.NoticeBody, Data: retry,
			Language: v.Language})
	default:
		p.Log.ErrorContext(v.Context(), "a login failed", "err", err)
		p.Look.Write(w, v.Request, look.Page{Status: http.StatusInternalServerError, Name: "failed",
			Body: look.NoticeBody, Data: retry, Language: v.Language})
	}
}

// minutes returns how long to wait, rounded up.
func minutes(wait time.Duration) int { return max(int(math.Ceil(wait.Minutes())), 1) }
