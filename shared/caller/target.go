package caller

import (
	"context"
	"sync/atomic"
)

// Target is the user whom a request acts on. The escalation rule protects this user: a caller who lacks one of
// the user's permissions is refused. The rule can be left to the transaction that changes the user, where no role
// can be given between the check and the change.
type Target struct {
	UserID string
	// Costly reports that the method works hard before it changes anything, so that the rule is checked first too.
	Costly        bool
	left, checked atomic.Bool
}

// LeaveToChange leaves the rule to the transactions that change the user.
func (t *Target) LeaveToChange() { t.left.Store(true) }

// LeftToChange reports whether a transaction has to check the rule.
func (t *Target) LeftToChange() bool { return t != nil && t.left.Load() }

// Checked says that a transaction has checked the rule.
func (t *Target) Checked() { t.checked.Store(true) }

// Unchecked reports whether the rule was left to transactions and none has checked it.
func (t *Target) Unchecked() bool { return t.LeftToChange() && !t.checked.Load() }

type targetKey struct{}

// WithTarget puts the user whom a request acts on into a context.
func WithTarget(ctx context.Context, t *Target) context.Context {
	return context.WithValue(ctx, targetKey{}, t)
}

// TargetOf returns the user whom a request acts on, or nil.
func TargetOf(ctx context.Context) *Target {
	t, _ := ctx.Value(targetKey{}).(*Target)
	return t
}
