package delivery

import (
	"fmt"
	"sync"

	"herald/shared/postgres"
	"herald/shared/retry"
)

// trouble is what is not known to be sent. The zero trouble is none.
type trouble struct {
	mu sync.Mutex
	// unwritten is how many outcomes wait in memory, because the database cannot be written.
	unwritten int
}

// keep notes that one more outcome waits, or with -1 one less, and returns how many wait then.
func (t *trouble) keep(more int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwritten += more
	return t.unwritten
}

// Delayed returns an error if outcomes of mails wait in memory. A relay that is away is no reason not to be ready:
// mails wait for days, and everything else works.
func (s *Sender) Delayed() error {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	if s.trouble.unwritten == 0 {
		return nil
	}
	return fmt.Errorf("%d outcomes of mails wait until the database can be written", s.trouble.unwritten)
}

// note notes how a use of the database has ended. Of one that does not work others have told.
func note(w *retry.Outage, err error) {
	switch {
	case err == nil:
		w.Worked()
	case !postgres.Told(err):
		w.Failed(err)
	}
}
