package frame

import (
	"context"
	"log/slog"
	"sync"
	"time"

	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/retry"
)

const (
	// cacheTime is how long an answer of text is used, from when it was requested. So text gets at most one request a
	// second.
	cacheTime = time.Second
	// textTimeout is how long a page waits for text. A change in text is on every page after the sum of cacheTime and
	// textTimeout.
	textTimeout = 500 * time.Millisecond
)

// source is the service text.
type source struct {
	text   textv1.TextClient
	now    func() time.Time
	outage *retry.Outage
}

func newSource(text textv1.TextClient, now func() time.Time, log *slog.Logger) source {
	return source{text, now, &retry.Outage{
		Log: log, Begins: "text does not answer; pages use its last answers", Ends: "text answers pages again",
	}}
}

// cached is an answer of text. If text does not answer, the last answer stays in use.
type cached[T any] struct {
	mu     sync.Mutex // held during a request, so that other pages wait for the same answer
	answer T
	until  time.Time
}

// get returns the answer. It calls ask if the answer is too old.
func (c *cached[T]) get(ctx context.Context, s source, ask func(context.Context) (T, error)) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := s.now()
	if asked.Before(c.until) {
		return c.answer
	}
	// All pages wait for this answer, so it does not end with the request of one of them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), textTimeout)
	defer cancel()
	answer, err := ask(ctx)
	if err != nil {
		s.outage.Failed(err)
		// The time is counted from now and not from the request. Otherwise every page would wait while text does not
		// answer.
		c.until = s.now().Add(cacheTime)
		return c.answer
	}
	s.outage.Worked()
	c.answer, c.until = answer, asked.Add(cacheTime)
	return answer
}
