package delivery

import (
	"errors"
	"fmt"
	"sync"
)

// trouble is why mails wait or are not known to be sent. The zero trouble is none.
type trouble struct {
	mu sync.Mutex
	// closed is why the gate is closed, empty while it is open.
	closed string
	// unwritten is how many outcomes wait in memory, because the database cannot be written.
	unwritten int
}

// blocked sets why no mail can be sent, which is empty if mails can be sent.
func (t *trouble) blocked(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = why
}

// keep notes that one more outcome waits, or with -1 one less, and returns how many wait then.
func (t *trouble) keep(more int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwritten += more
	return t.unwritten
}

// Delayed returns why mails or their outcomes wait, nil if they do not.
func (s *Sender) Delayed() error {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	var closed, unwritten error
	if s.trouble.closed != "" {
		closed = errors.New("no mail can be sent: " + s.trouble.closed)
	}
	if s.trouble.unwritten > 0 {
		unwritten = fmt.Errorf("%d outcomes of mails wait until the database can be written", s.trouble.unwritten)
	}
	return errors.Join(closed, unwritten)
}
