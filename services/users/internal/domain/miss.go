package domain

import (
	"time"

	"herald/shared/limit"
)

// Misses counts guesses at codes of users who have none, or who do not exist. It counts in memory, so that
// they cost no row, and refuses as many as a code does.
type Misses struct{ counted *limit.Limit }

// NewMisses returns a Misses without guesses.
func NewMisses(now func() time.Time) Misses {
	return Misses{limit.New(CodeTries, LongestLifetime(), now)}
}

// Guess counts a guess. It returns ErrCodeLocked after too many.
func (m Misses) Guess(userID string, kind Kind) error {
	if m.counted.Take(missed(userID, kind)) > 0 {
		return ErrCodeLocked
	}
	return nil
}

// Forget takes the guesses back, as a new code has none.
func (m Misses) Forget(userID string, kind Kind) { m.counted.Forget(missed(userID, kind)) }

func missed(userID string, kind Kind) string { return string(kind) + " " + userID }
