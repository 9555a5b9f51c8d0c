package users_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/testkit"
)

// Hostile case 33: guesses between mails get the same answers whether the user exists or not. A mail that comes
// too soon, or after the tenth of a day, is not sent, and takes no guess back.
func TestGuessesBetweenMails(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	ids := map[string]string{"a user": w.person(w.admin, "mini"), "nobody": "nobody"}
	after := func(d time.Duration) {
		ahead.Add(int64(d + time.Millisecond))
		for _, id := range ids {
			w.request("passwordreset", id)
		}
	}
	guess := func(step, want string) {
		t.Helper()
		for who, id := range ids {
			_, err := w.completeKind("passwordreset", id, "AAAAAAAA", "correct horse")
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s gets %v, want %s", step, who, err, want)
			}
		}
	}
	lock := func() {
		t.Helper()
		for n := range domain.CodeTries {
			guess(fmt.Sprint("guess ", n), "CODE_WRONG")
		}
		guess("one guess too many", "CODE_LOCKED")
	}
	after(0)
	lock()
	after(30 * time.Second)
	guess("a mail within a minute", "CODE_LOCKED")
	for range domain.CodesADay - 1 {
		after(domain.CodePause)
		guess("a mail after a minute", "CODE_WRONG")
	}
	after(domain.CodePause)
	for range domain.CodeTries - 1 {
		guess("the tenth mail", "CODE_WRONG")
	}
	guess("the eleventh mail", "CODE_LOCKED")
	after(24*time.Hour - 10*domain.CodePause - 35*time.Second)
	guess("shortly before the first mail is a day old", "CODE_LOCKED")
	after(10 * time.Second)
	lock()
	after(domain.CodePause - 10*time.Second)
	guess("within a minute on the next day", "CODE_LOCKED")
	after(domain.CodePause)
	guess("the second mail is a day old", "CODE_WRONG")
}
