package login

import (
	"strconv"
	"testing"
	"time"
)

// Anybody can make an address of the page of a pause. Whatever it says, the page shows at most a day.
func FuzzRemaining(f *testing.F) {
	for _, until := range []string{"", "1", "-1", "0x7", "9223372036854775807", "99999999999999999999", "\u0661"} {
		f.Add(until, int64(0))
	}
	for _, ahead := range []int64{-1, 1, 60, 86400, 86401} {
		f.Add("", ahead)
	}
	now := time.Unix(1e9, 0)
	f.Fuzz(func(t *testing.T, until string, ahead int64) {
		if until == "" {
			until = strconv.FormatInt(now.Unix()+ahead, 10)
		}
		wait := remaining(until, now)
		if wait < 0 || wait > 24*time.Hour {
			t.Errorf("%q: %v", until, wait)
		}
		seconds, err := strconv.ParseInt(until, 10, 64)
		if wait != 0 && (err != nil || now.Add(wait).Unix() != seconds) {
			t.Errorf("%q: %v", until, wait)
		}
		if 0 < ahead && ahead <= 86400 && until == strconv.FormatInt(now.Unix()+ahead, 10) && wait == 0 {
			t.Errorf("%q: no pause", until)
		}
	})
}
