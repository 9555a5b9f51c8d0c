package directory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"herald/shared/outbound"
	"herald/shared/retry"
)

// ErrOutage is wrapped by the error of a request that the directory did not answer. The outage is already in the log.
var ErrOutage = errors.New("the directory does not answer")

// watched returns a client that logs outages. It logs an outage once, however many requests fail.
func watched(c *http.Client, log *slog.Logger) *http.Client {
	c.Transport = watcher{c.Transport, &retry.Outage{
		Log: log, Begins: "the directory does not answer; nobody can log in with its accounts",
		Ends: "the directory answers again",
	}}
	return c
}

type watcher struct {
	next  http.RoundTripper
	watch *retry.Outage
}

// RoundTrip implements http.RoundTripper. It treats an answer with a status 5xx as a failure.
func (w watcher) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(r)
	if err == nil && answer.StatusCode >= http.StatusInternalServerError {
		_ = answer.Body.Close()
		err = fmt.Errorf("%s answers %s", r.URL.Redacted(), answer.Status)
	}
	switch {
	case err == nil:
		w.watch.Worked()
		return answer, nil
	case errors.Is(err, context.Canceled): // the person has closed the connection
		return nil, err
	}
	w.watch.Failed(outbound.Brief(err))
	return nil, fmt.Errorf("%w: %w", ErrOutage, err)
}
