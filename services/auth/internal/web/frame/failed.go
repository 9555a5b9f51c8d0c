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
func (f *Frame) locked(w http.ResponseWriter, r *http.Request, wait time.Duration, language string) {
	w.Header().Set("Retry-After", fault.RetrySeconds(max(wait, time.Second)))
	f.Write(w, r, Page{Status: http.StatusTooManyRequests, Name: "loginlocked", Body: lockedBody,
		Data: max(int(math.Ceil(wait.Minutes())), 1), Language: language})
}

// Failed writes the page for an error after which the person can only wait: a login is locked, a part of Herald does
// not answer or is overloaded, or has failed, which is logged.
func (f *Frame) Failed(w http.ResponseWriter, r *http.Request, err error, again Retry) {
	cause := fault.From(err)
	page := Page{
		Status: cause.HTTPStatus(), Name: "away", Body: NoticeBody, Data: again.Address, Language: again.Language,
	}
	switch {
	case cause.ID == usersfault.ErrPasswordLocked.ID, cause.ID == usersfault.ErrOTPLocked.ID:
		f.locked(w, r, cause.RetryAfter, again.Language)
		return
	case cause.Code == fault.Unavailable, cause.Code == fault.Deadline, cause.Code == fault.Exhausted:
		w.Header().Set("Retry-After", fault.RetrySeconds(max(cause.RetryAfter, time.Second)))
	default:
		f.log.ErrorContext(r.Context(), "a page failed", "path", r.URL.Path, "err", err)
		page.Status, page.Name = http.StatusInternalServerError, "failed"
	}
	f.Write(w, r, page)
}
