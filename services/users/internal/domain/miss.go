package domain

import (
	"strconv"
	"time"

	"herald/shared/limit"
)

// Misses counts guesses at codes of users who have none, or who do not exist. It counts in memory, so that
// they cost no row, and refuses as many as a code does.
type Misses struct{ guesses, pause, day *limit.Limit }

// NewMisses returns a Misses without guesses.
func NewMisses(now func() time.Time) Misses {
	return Misses{
		guesses: limit.New(CodeTries, LongestLifetime(), now),
		pause:   limit.New(1, CodePause, now),
		day:     limit.New(1, 24*time.Hour, now),
	}
}

// Guess counts a guess. It returns ErrCodeLocked after too many.
func (m Misses) Guess(userID string, kind Kind) error {
	if m.guesses.Take(missed(userID, kind)) > 0 {
		return ErrCodeLocked
	}
	return nil
}

// Renew takes the guesses back, as a new code has none. It does so only when a user who waits for a mail gets a new
// code: not within CodePause, nor after CodesADay mails of a day.
func (m Misses) Renew(userID string, kind Kind) {
	key := missed(userID, kind)
	if m.pause.Take(key) > 0 {
		return
	}
	// Each mail of a day has its own key, so that one more is allowed as soon as the oldest is a day old.
	for mail := range CodesADay {
		if m.day.Take(key+" "+strconv.Itoa(mail)) == 0 {
			m.guesses.Forget(key)
			return
		}
	}
	m.pause.Return(key)
}

func missed(userID string, kind Kind) string { return string(kind) + " " + userID }
