package frame

import (
	"math"
	"net/http"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/outbound"
)

// Retry is where a person can go on after an error, and the language of the error page. All may be empty.
type Retry struct {
	// Address is where a person can try again.
	Address string
	// Forgot is the page for a forgotten password. The code that it mails ends a pause after wrong passwords.
	Forgot   string
	Language string
	// Pause returns the address of a page that shows how long a locked login waits, in a language. It is nil if there
	// is none.
	Pause func(why *fault.Fault, tag string) string
}

var lockedBody = Body(files, "locked.html")

type waiting struct {
	Minutes int
	Retry
}

// locked writes the page for a login that waits because of wrong passwords or codes.
func (f *Frame) locked(w http.ResponseWriter, r *http.Request, why *fault.Fault, again Retry) {
	w.Header().Set("Retry-After", fault.RetrySeconds(max(why.RetryAfter, time.Second)))
	page := Page{Status: http.StatusTooManyRequests, Name: "loginlocked", Body: lockedBody, Language: again.Language}
	if again.Pause != nil {
		page.InLanguage = func(tag string) string { return again.Pause(why, tag) }
	}
	if why.ID == usersfault.ErrOTPLocked.ID {
		again.Forgot = ""
	}
	page.Data = waiting{max(int(math.Ceil(why.RetryAfter.Minutes())), 1), again}
	f.Write(w, r, page)
}

// Failed writes the page for an error that no page of its own explains: a login is locked, a quota is used up, a part
// of Herald does not answer or is overloaded, or has failed, which is logged.
func (f *Frame) Failed(w http.ResponseWriter, r *http.Request, err error, again Retry) {
	cause := fault.From(err)
	page := Page{
		Status: cause.HTTPStatus(), Name: "away", Body: NoticeBody, Data: again.Address, Language: again.Language,
	}
	switch {
	case cause.ID == usersfault.ErrPasswordLocked.ID, cause.ID == usersfault.ErrOTPLocked.ID:
		f.locked(w, r, cause, again)
		return
	case cause.ID == fault.ErrQuotaExceeded.ID:
		page.Name = "toomany"
	case cause.Code == fault.Unavailable, cause.Code == fault.Deadline, cause.Code == fault.Exhausted:
		w.Header().Set("Retry-After", fault.RetrySeconds(max(cause.RetryAfter, time.Second)))
	default:
		f.log.ErrorContext(r.Context(), "a page failed", "path", outbound.Said(r.URL.Path), "err",
			outbound.Brief(err))
		page.Status, page.Name = http.StatusInternalServerError, "failed"
	}
	f.Write(w, r, page)
}
