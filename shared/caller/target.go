package caller

import (
	"context"
	"sync/atomic"
)

// Target is the user whom a request acts on. The escalation rule protects this user: a caller who lacks one of the
// user's permissions is refused. The check may be left to the transaction that changes the user, because then nobody
// can grant a role between the check and the change.
type Target struct {
	UserID string
	// Costly means that the method does expensive work before it changes anything. Then the rule is also checked
	// before that work.
	Costly        bool
	left, checked atomic.Bool
}

// LeaveToChange leaves the check to the transactions that change the user.
func (t *Target) LeaveToChange() { t.left.Store(true) }

// LeftToChange reports whether a transaction must check the rule.
func (t *Target) LeftToChange() bool { return t != nil && t.left.Load() }

// Checked records that a transaction has checked the rule.
func (t *Target) Checked() { t.checked.Store(true) }

// Unchecked reports whether the check was left to transactions and no transaction has done it.
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
