package internals_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// Guesses between mails get the same answers whether the user exists or not. A mail that comes too soon, or after the
// tenth of a day, is not sent, and resets no guesses.
func TestGuessesBetweenMailsAnswerAlikeForNobody(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	w.Stop()
	ids := map[string]string{"a user": w.Person(w.Admin, "mini"), "nobody": "nobody"}
	after := func(d time.Duration) {
		w.Advance(d + time.Millisecond)
		for _, id := range ids {
			w.Request("passwordreset", id)
		}
	}
	guess := func(step, want string) {
		t.Helper()
		for who, id := range ids {
			_, err := w.CompleteKind("passwordreset", id, "AAAAAAAA", "correct horse")
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

// A user who does not wait for a mail any more, but still has its code, gets the answers of one who does not exist.
func TestUserWhoCannotUseTheCodeAnswersLikeNobody(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	reset := func(name, set string) (id string) {
		id = w.Person(w.Admin, name)
		w.Request("passwordreset", id)
		w.Mail(id)
		w.SetColumns(id, set)
		return id
	}
	ids := map[string]string{
		"nobody": "nobody", "locked": reset("locked", "state = 3"), "inactive": reset("inactive", "state = 2"),
		"unverified": reset("unverified", "email_verified = false"),
		"outranked":  reset("outranked", "email_outranked = true"),
	}
	if n := w.Rows("codes where purpose = 'passwordreset'"); n != len(ids)-1 {
		t.Fatalf("%d users have a code", n)
	}
	for round := range 2 {
		w.Advance(domain.CodePause + time.Second)
		for who, id := range ids {
			w.Request("passwordreset", id)
			for n := range domain.CodeTries + 1 {
				_, err := w.CompleteKind("passwordreset", id, "AAAAAAAA", "correct horse")
				if want := []string{"CODE_WRONG", "CODE_LOCKED"}[n/domain.CodeTries]; err == nil ||
					!strings.Contains(err.Error(), want) {
					t.Errorf("%s, guess %d after %d mails: %v, want %s", who, n, round, err, want)
				}
			}
		}
	}
}

// The check of a right code returns its holder, and opening its link any number of times counts as no guess. The check
// of a wrong code returns nothing and counts, so that nobody can guess codes by opening links.
func TestCheckCode(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("mini")
	code := w.Mail(id).Code
	check := func(userID, code string, known bool) {
		t.Helper()
		r, err := w.Auth.CheckCode(t.Context(), &usersv1.CheckCodeRequest{Kind: "init", UserId: userID, Code: code})
		if err != nil || (r.Holder != nil) != known || r.Expired {
			t.Errorf("%v, %v", r, err)
		}
		if known && (r.Holder.LoginName != "mini" || r.Holder.OrgName != "Herald") {
			t.Errorf("the code is of %v", r.Holder)
		}
	}
	w.Unwritten(func() {
		for range domain.CodeTries + 5 {
			check(id, code, true)
		}
		for range domain.CodeTries - 1 {
			check(id, "AAAAAAAA", false)
			check("nobody", "AAAAAAAA", false)
		}
		check(id, code, true)
		check(id, "AAAAAAAA", false)
		check(id, code, false) // after ten wrong ones
	})
	_, err := w.Complete(id, code, "correct horse")
	testkit.Refused(t, err, "CODE_LOCKED")
}

// All kinds of wrong codes get the same answer, and the eleventh guess is not compared.
func TestInitializationGuesses(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Initial("mini"), w.Initial("maxi")
	right, foreign := w.Mail(id).Code, w.Mail(other).Code
	for i, guess := range []string{"", foreign, "AAAAAAAA", strings.Repeat("A", 10000), right + "A", right[:7],
		"' or 1=1", "\x00", "ÄÖÜ", "AAAA2222"} {
		_, err := w.Complete(id, guess, "correct horse")
		testkit.Refused(t, err, "CODE_WRONG")
		if t.Failed() {
			t.Fatalf("guess %d", i)
		}
	}
	_, err := w.Complete(id, right, "correct horse")
	testkit.Refused(t, err, "CODE_LOCKED")
	if w.State(id) != usersv1.UserState_USER_STATE_INITIAL {
		t.Error("the right code after ten wrong ones was taken")
	}
	for range 10 {
		_, err = w.Complete("nobody", "AAAAAAAA", "correct horse")
		testkit.Refused(t, err, "CODE_WRONG")
	}
	_, err = w.Complete("nobody", "AAAAAAAA", "correct horse")
	testkit.Refused(t, err, "CODE_LOCKED") // as for a user who exists

	w.Must(w.Gateway.ResendInitialization(w.Admin, &usersv1.ResendInitializationRequest{UserId: id}))
	_, err = w.Complete(id, right, "correct horse")
	testkit.Refused(t, err, "CODE_WRONG") // replaced by a newer one
	if _, err = w.Complete(id, w.Mail(id).Code, "correct horse"); err != nil {
		t.Errorf("the new mail's code: %v", err)
	}
}

func TestInitializationGuessesAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("mini")
	testworld.Guesses(t, "CODE_WRONG", "CODE_LOCKED", func(int) error {
		_, err := w.Complete(id, "AAAAAAAA", "correct horse")
		return err
	})
}

// Guesses at an id that does not exist cost no row, and do not count against the code of the user who gets the id
// later.
func TestGuessesAtAFutureIDDoNotCountLater(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, before := "4711", w.Rows("codes")+w.Rows("password_tries")
	w.Unwritten(func() {
		for n := range 11 {
			_, err := w.Complete(id, "AAAAAAAA", "correct horse")
			testkit.Refused(t, err, []string{"CODE_WRONG", "CODE_LOCKED"}[n/10])
		}
		for n := range 500 {
			_, err := w.Complete(fmt.Sprint("nobody-", n), "AAAAAAAA", "correct horse")
			testkit.Refused(t, err, "CODE_WRONG")
		}
	})
	if n := w.Rows("codes") + w.Rows("password_tries"); n != before {
		t.Errorf("%d rows more", n-before)
	}
	r := testworld.Minimal("mini")
	r.UserId = id
	w.Must(w.Gateway.ImportHumanUser(w.Admin, r))
	if _, err := w.Complete(id, w.Mail(id).Code, "correct horse"); err != nil {
		t.Errorf("the right code of the user who came later: %v", err)
	}
}

// While 90 clients of one organization have passwords hashed, a right code of another's user is accepted at once.
func TestFloodOfOneOrganizationDoesNotStopAnother(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgID, owner := w.Org("Flood")
	hasher := w.Person(owner, "hasher")
	flood, stop := context.WithCancel(owner)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	var refusals atomic.Int64
	for range 90 {
		wait.Go(func() {
			for flood.Err() == nil {
				r := &usersv1.SetPasswordRequest{UserId: hasher, Password: "correct horse"}
				_, err := w.Gateway.SetPassword(flood, r)
				if err != nil && strings.Contains(err.Error(), "OVERLOADED") {
					refusals.Add(1)
				}
			}
		})
	}
	for n := 0; n < 5 || refusals.Load() == 0; n++ {
		id := w.Initial(fmt.Sprint("mini-", n))
		if _, err := w.Complete(id, w.Mail(id).Code, "correct horse"); err != nil {
			t.Fatalf("user %d, while %s has its passwords hashed: %v", n, orgID, err)
		}
	}
}

// A right code that is refused while too many passwords wait to be hashed is not counted as a guess.
func TestOverloadIsNotCountedAsAGuess(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	victim := w.Person(w.Admin, "victim")
	flood, stop := context.WithCancel(w.Admin)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	for range 150 {
		wait.Go(func() {
			for flood.Err() == nil {
				r := &usersv1.SetPasswordRequest{UserId: victim, Password: "correct horse"}
				_, _ = w.Gateway.SetPassword(flood, r)
			}
		})
	}
	for user := 0; ; user++ {
		id := w.Initial(fmt.Sprint("mini-", user))
		code, turnedAway := w.Mail(id).Code, 0
		for turnedAway <= domain.CodeTries {
			_, err := w.Complete(id, code, "correct horse")
			if err == nil {
				break // there was room
			}
			testkit.Refused(t, err, "OVERLOADED")
			turnedAway++
		}
		if turnedAway <= domain.CodeTries {
			continue
		}
		stop()
		wait.Wait()
		_, err := w.Complete(id, code, "correct horse")
		for err != nil && strings.Contains(err.Error(), "OVERLOADED") { // passwords of the flood are still being hashed
			_, err = w.Complete(id, code, "correct horse")
		}
		if err != nil {
			t.Errorf("after %d refusals for lack of room: %v", turnedAway, err)
		}
		return
	}
}
