package store_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pquerna/otp/totp"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// factors is the app of the user u1 of org-a, and three replicas of the store.
type factors struct {
	world
	replicas []store.Store
	key      secret.Text
	recovery []string
	// wrong counts the codes that were compared and wrong.
	wrong atomic.Int64
}

func newFactors(t *testing.T) *factors {
	t.Helper()
	f := &factors{world: newWorld(t), key: domain.NewOTPKey()}
	f.replicas = []store.Store{f.Store}
	for range 2 {
		db, err := pgxpool.NewWithConfig(t.Context(), f.db.Config())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		f.replicas = append(f.replicas,
			store.New(event.Journal{DB: db, Now: time.Now, Committed: func(event.Event) {}}))
	}
	f.org("org-a")
	f.user("org-a", "u1")
	f.must(f.CreateOTP(t.Context(), app("u1", "org-a"), happened))
	before := now.Add(-time.Hour)
	f.must(f.ChangeOTP(t.Context(), "org-a", "u1", func(otp *domain.OTP) (_ store.NoticedChange, err error) {
		f.recovery, err = otp.Verify(f.key, f.code(before), before)
		return changed, err
	}))
	return f
}

// now is in the middle of a time step.
var now = time.Date(2026, 5, 4, 12, 0, 15, 0, time.UTC)

func (f *factors) code(at time.Time) string {
	f.Helper()
	code, err := totp.GenerateCode(f.key.Reveal(), at)
	if err != nil {
		f.Fatal(err)
	}
	return code
}

// check checks a code at one of the replicas, as a login does.
func (f *factors) check(n int, code string) error {
	var refusal error
	_, err := f.replicas[n%3].ChangeOTP(f.Context(), "org-a", "u1", func(otp *domain.OTP) (store.NoticedChange, error) {
		refusal = otp.Check(f.key, code, now)
		if errors.Is(refusal, usersfault.ErrCodeWrong) {
			f.wrong.Add(1)
			return changed, nil
		}
		return changed, refusal
	})
	if err == nil {
		err = refusal
	}
	return err
}

// A code that is sent fifty times at once to three replicas is accepted once. The others count as wrong codes, of which
// five are compared.
func TestSecondFactorReplayed(t *testing.T) {
	t.Parallel()
	f := newFactors(t)
	for what, code := range map[string]string{"app": f.code(now), "recovery code": f.recovery[3]} {
		f.must(f.db.Exec(t.Context(), `update otp_factors set wrong_at = '{}'`))
		f.wrong.Store(0)
		if n := testkit.Race(t, 50, func(i int) error { return f.check(i, code) }, "CODE_WRONG",
			"OTP_LOCKED"); n != 1 || f.wrong.Load() != 5 {
			t.Errorf("%s: %d accepted, %d wrong", what, n, f.wrong.Load())
		}
	}
	if n := testkit.Rows(t, f.db, "otp_factors where cardinality(recovery_codes) = 9"); n != 1 {
		t.Error("more or less than the recovery code that was used is gone")
	}
}

// Each recovery code is accepted once, by whichever replica.
func TestRecoveryCodesCountOnce(t *testing.T) {
	t.Parallel()
	f := newFactors(t)
	for n, code := range f.recovery {
		if n%2 == 0 { // at most the third wrong code
			f.must(f.db.Exec(t.Context(), `update otp_factors set wrong_at = '{}'`))
		}
		if err := f.check(n, code); err != nil {
			t.Errorf("code %d: %v", n, err)
		}
		if err := f.check(n+1, code); !errors.Is(err, usersfault.ErrCodeWrong) {
			t.Errorf("code %d again: %v", n, err)
		}
	}
	if n := testkit.Rows(t, f.db, "otp_factors where cardinality(recovery_codes) = 0"); n != 1 {
		t.Error("codes are left")
	}
}

// Of fifty guesses at once five are compared. Then every code is refused, even the right one.
func TestSecondFactorGuessed(t *testing.T) {
	t.Parallel()
	f := newFactors(t)
	testkit.Race(t, 50, func(i int) error { return f.check(i, "guess") }, "CODE_WRONG", "OTP_LOCKED")
	if n := f.wrong.Load(); n != 5 {
		t.Errorf("%d guesses were looked at", n)
	}
	for n, code := range []string{f.code(now), f.recovery[0], "guess"} {
		if err := f.check(n, code); !errors.Is(err, usersfault.ErrOTPLocked) {
			t.Errorf("%q: %v", code, err)
		}
	}
	if f.wrong.Load() != 5 {
		t.Error("a locked factor looks at codes")
	}
}

// Only an authenticator app that was verified is asked for after a login with a provider.
func TestExternalLoginAsksForAReadyAppOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	for id, state := range map[string]domain.FactorState{"u1": domain.FactorNotReady, "u2": domain.FactorReady} {
		w.must(nil, w.createLinked("org-a", id, "idp-a", id))
		factor := app(id, "org-a")
		factor.State = state
		w.must(w.CreateOTP(t.Context(), factor, happened))
		l, err := w.ExternalLogin(t.Context(), "idp-a", id)
		if want := state == domain.FactorReady; err != nil || l.OTPReady != want {
			t.Errorf("state %v: asked %v, %v", state, l.OTPReady, err)
		}
	}
}
