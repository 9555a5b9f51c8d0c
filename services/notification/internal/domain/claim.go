package domain

import "time"

const (
	// retryFor is how long a mail is tried, from its creation.
	retryFor = 72 * time.Hour
	// maxUncertain is how many attempts may end without an answer. There is no third attempt, because the second may
	// already have delivered the mail twice.
	maxUncertain = 2

	// RepeatPause is the pause before a mail that may have been delivered is sent once more. It is longer than most
	// mail servers take to restart.
	RepeatPause = 2 * time.Minute

	shortest = 2 * time.Second
	longest  = time.Hour
	// longestAway bounds the pause while no mail can be sent at all. It is short, so that mails are sent soon when
	// sending works again. The sender limits the number of tries in the meantime.
	longestAway = 4 * time.Second
)

// Claim is a notification that belongs to one notifier while its lease lasts. Each claim of a mail
// has a higher fence than those before it.
type Claim struct {
	Notification
	Fence int64
	// Unanswered counts the attempts that may have delivered the mail.
	Unanswered int
	// Rendered is the mail without its code as it was first sent; nil before the first try.
	Rendered []byte
}

// Verdict is the outcome of a try, and the notification's state after it.
type Verdict struct {
	State State
	// Attempt is the attempt's state; 0 if the try is not counted as an attempt.
	Attempt State
	// Pause is the time until the next try of a notification that is Retrying.
	Pause time.Duration
	// Reply is the mail server's reply, or the error before there was one.
	Reply string
	// Code is the mail server's reply code; 0 if there was no reply.
	Code int
}

// Hopeless reports whether the mail must not be sent again.
func (c Claim) Hopeless() bool {
	return c.Unanswered >= maxUncertain || c.Kind == Test && c.Fence > 1
}

// Delivered is for a mail that the server took.
func (c Claim) Delivered() Verdict { return Verdict{State: Sent, Attempt: Sent} }

// Refused is for a mail that the server refuses for good, or that nobody wants any more.
func (c Claim) Refused() Verdict { return Verdict{State: c.end(), Attempt: Failed} }

// Deferred is for a mail that was not accepted now. away reports that no mail at all would have been accepted.
func (c Claim) Deferred(now time.Time, away bool) Verdict {
	if c.last(now) {
		return Verdict{State: c.end(), Attempt: Failed}
	}
	return Verdict{State: Retrying, Attempt: Retrying, Pause: c.pause(now, away)}
}

// NotAnswered is for a mail whose final dot got no answer. It is sent once more, after RepeatPause.
func (c Claim) NotAnswered(now time.Time) Verdict {
	if c.Unanswered+1 >= maxUncertain || c.last(now) {
		return Verdict{State: Uncertain, Attempt: Uncertain}
	}
	return Verdict{State: Retrying, Attempt: Uncertain, Pause: RepeatPause}
}

// Unasked is for a try that did not reach the mail server, because another service was away. It is
// not counted.
func (c Claim) Unasked(now time.Time) Verdict {
	return Verdict{State: Retrying, Pause: c.pause(now, true)}
}

// Released is for a mail that its notifier gives back to the others.
func (c Claim) Released() Verdict { return Verdict{State: Retrying} }

// Ended is for a hopeless mail, such as a test mail whose notifier died.
func (c Claim) Ended() Verdict {
	if c.Unanswered > 0 {
		return Verdict{State: Uncertain}
	}
	return Verdict{State: Failed, Attempt: Failed, Reply: "the notifier ended before it tried the mail"}
}

// end returns Failed, or Uncertain if the mail may have been delivered.
func (c Claim) end() State {
	if c.Unanswered > 0 {
		return Uncertain
	}
	return Failed
}

// last reports whether no further try is allowed.
func (c Claim) last(now time.Time) bool {
	return c.Kind == Test || now.Sub(c.CreatedAt) >= retryFor
}

// pause returns the time until the next try. It grows in proportion to the mail's age.
func (c Claim) pause(now time.Time, away bool) time.Duration {
	most := longest
	if away {
		most = longestAway
	}
	return min(max(now.Sub(c.CreatedAt)/2, shortest), most)
}
