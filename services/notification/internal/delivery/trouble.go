package delivery

import (
	"fmt"
	"sync"

	"herald/shared/retry"
)

// trouble counts the outcomes that are not in the database yet. The zero value counts none.
type trouble struct {
	mu sync.Mutex
	// unwritten is the number of outcomes that are in memory only, because writing to the database fails.
	unwritten int
}

// keep adds more, which is 1 or -1, to the number of outcomes in memory. It returns the new number.
func (t *trouble) keep(more int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwritten += more
	return t.unwritten
}

// Delayed returns an error if outcomes of mails are in memory only. A relay that cannot be reached is no error here:
// its mails can wait for days, and everything else works, so the process is ready.
func (s *Sender) Delayed() error {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	if s.trouble.unwritten == 0 {
		return nil
	}
	return fmt.Errorf("%d outcomes of mails wait until the database can be written", s.trouble.unwritten)
}

// note records whether a use of the database succeeded.
func note(w *retry.Outage, err error) {
	if err == nil {
		w.Worked()
	} else {
		w.Failed(err)
	}
}
