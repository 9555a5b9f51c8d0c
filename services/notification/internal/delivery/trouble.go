package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"herald/shared/postgres"
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

// spell logs errors that follow one another: the first one, and the success after them.
type spell struct {
	begins, ends string
	lasts        bool
}

// note notes an error, or nil for a success. Of a database that does not work others have told.
func (s *spell) note(ctx context.Context, log *slog.Logger, err error) {
	switch {
	case postgres.Told(err):
		return
	case err != nil && !s.lasts:
		log.WarnContext(ctx, s.begins, "err", err)
	case err == nil && s.lasts:
		log.InfoContext(ctx, s.ends)
	}
	s.lasts = err != nil
}
