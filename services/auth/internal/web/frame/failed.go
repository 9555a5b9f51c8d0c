package frame

import (
	"math"
	"net/http"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

// Retry is the address at which a person can try again after an error, and the language of the error page. Both may be
// empty.
type Retry struct{ Address, Language string }

var lockedBody = Body(files, "locked.html")

// locked writes the page for a login that waits because of wrong passwords or codes.
func (l *Frame) locked(w http.ResponseWriter, r *http.Request, wait time.Duration, language string) {
	w.Header().Set("Retry-After", fault.RetrySeconds(max(wait, time.Second)))
	l.Write(w, r, Page{Status: http.StatusTooManyRequests, Name: "loginlocked", Body: lockedBody,
		Data: max(int(math.Ceil(wait.Minutes())), 1), Language: language})
}

// Failed writes the page for an error after which the person can only wait: a login is locked, a part of Herald does
// not answer or is overloaded, or has failed, which is logged.
func (l *Frame) Failed(w http.ResponseWriter, r *http.Request, err error, again Retry) {
	f := fault.From(err)
	page := Page{Status: f.HTTPStatus(), Name: "away", Body: NoticeBody, Data: again.Address, Language: again.Language}
	switch {
	case f.ID == usersfault.ErrPasswordLocked.ID, f.ID == usersfault.ErrOTPLocked.ID:
		l.locked(w, r, f.RetryAfter, again.Language)
		return
	case f.Code == fault.Unavailable, f.Code == fault.Deadline, f.Code == fault.Exhausted:
		w.Header().Set("Retry-After", fault.RetrySeconds(max(f.RetryAfter, time.Second)))
	default:
		l.log.ErrorContext(r.Context(), "a page failed", "path", r.URL.Path, "err", err)
		page.Status, page.Name = http.StatusInternalServerError, "failed"
	}
	l.Write(w, r, page)
}
