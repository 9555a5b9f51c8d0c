package delivery

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/notification/internal/domain"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/retry"
)

// The pauses between tries to record an outcome.
const (
	firstRecord   = 50 * time.Millisecond
	longestRecord = time.Second
)

// settle records an outcome. While the database cannot be reached the outcome is kept in memory, because without it the
// mail would be sent again. After the end of ctx, settle tries for Times.Record longer.
func (s *Sender) settle(ctx context.Context, c domain.Claim, r result) {
	ctx, stop := retry.Extend(ctx, func(ctx context.Context) (time.Duration, error) {
		return s.Times.Record, ctx.Err()
	})
	defer stop()
	ctx = caller.With(ctx, caller.Caller{Service: "notification"})
	failed := r.givenUp(c)
	err := s.record(ctx, c, r.verdict, failed)
	if away(err) {
		s.begin(ctx)
		for pause := firstRecord; away(err) && retry.Wait(ctx, pause); pause = min(2*pause, longestRecord) {
			err = s.record(ctx, c, r.verdict, failed)
		}
		s.end(ctx)
	}
	switch {
	case errors.Is(err, domain.ErrLost):
	case err != nil:
		s.Log.ErrorContext(ctx, "what became of a mail is not recorded", "notification", c.ID, "outcome", r.outcome,
			"err", err)
	case failed != nil:
		s.Log.WarnContext(ctx, "a mail is given up"+uncertainty(r.verdict.State), "notification", c.ID,
			"kind", c.Kind, "code", r.verdict.Code, "reason", r.why)
	}
}

// record tries once, within queryTime.
func (s *Sender) record(ctx context.Context, c domain.Claim, v domain.Verdict, failed proto.Message) error {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	return s.Store.Settle(ctx, c, v, failed)
}

// away reports whether an error of the database may be temporary.
func away(err error) bool {
	return err != nil && (fault.From(err).Code == fault.Unavailable || errors.Is(err, context.DeadlineExceeded))
}

func (s *Sender) begin(ctx context.Context) {
	if s.trouble.keep(1) == 1 {
		s.Log.WarnContext(ctx, "outcomes of mails wait in memory until the database can be written")
	}
}

func (s *Sender) end(ctx context.Context) {
	if s.trouble.keep(-1) == 0 {
		s.Log.InfoContext(ctx, "no outcome of a mail waits for the database any more")
	}
}

// uncertainty returns what a log line adds about a mail that is not known to be lost.
func uncertainty(s domain.State) string {
	if s == domain.Uncertain {
		return ": it may have been delivered, because the mail relay did not answer after it had the whole mail"
	}
	return ""
}
