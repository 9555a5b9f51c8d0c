package login

import (
	"net/http"
	"strconv"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

const (
	pausePath = Path + "pause"
	// longestPause bounds what an address can make the page say.
	longestPause = 24 * time.Hour
)

// pauseAddress returns a function for the address of the page that shows why a login waits, and until when, in a
// language. It exists because the answer to a form has no address that a reader could open in another language.
func (p Pages) pauseAddress(v *visit) func(why *fault.Fault, tag string) string {
	return func(why *fault.Fault, tag string) string {
		until := strconv.FormatInt(p.Now().Add(why.RetryAfter).Unix(), 10)
		return v.address(pausePath, "until", until, "reason", why.ID, "lang", tag)
	}
}

// pause shows how long a login still waits. After the pause it leads to the login. Anybody can make such an address, so
// that it decides nothing.
func (p Pages) pause(w http.ResponseWriter, v *visit) error {
	until, _ := strconv.ParseInt(v.Text("until", maxCode), 10, 64) // what is no number was long ago
	wait := time.Unix(until, 0).Sub(p.Now())
	if wait <= 0 || wait > longestPause {
		redirect(w, v, v.address(Path))
		return nil
	}
	if v.Values.Get("reason") == usersfault.ErrOTPLocked.ID {
		return usersfault.ErrOTPLocked.After(wait)
	}
	return usersfault.ErrPasswordLocked.After(wait)
}
