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
	wait := remaining(v.Text("until", maxCode), p.Now())
	if wait == 0 {
		redirect(w, v, v.address(Path))
		return nil
	}
	if v.Values.Get("reason") == usersfault.ErrOTPLocked.ID {
		return usersfault.ErrOTPLocked.After(wait)
	}
	return usersfault.ErrPasswordLocked.After(wait)
}

// remaining returns how long a pause still lasts that ends at until, in seconds since 1970. It is 0 for one that is
// over, is longer than any pause, or is no number.
func remaining(until string, now time.Time) time.Duration {
	seconds, err := strconv.ParseInt(until, 10, 64)
	if err != nil {
		return 0
	}
	wait := time.Unix(seconds, 0).Sub(now)
	if wait > longestPause {
		return 0
	}
	return max(wait, 0)
}
