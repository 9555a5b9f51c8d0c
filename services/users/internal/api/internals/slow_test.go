package internals_test

import (
	"context"
	"crypto/pbkdf2"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// slowHash returns a hash of a password that takes many times as long as Herald's own.
func slowHash(t *testing.T, password string) string {
	t.Helper()
	const rounds = 400_000
	key, err := pbkdf2.Key(sha512.New, password, []byte("salt"), rounds, 32)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$pbkdf2-sha512$%d$%s$%s", rounds, text([]byte("salt")), text(key))
}

// slowly imports active people into an organization, all with that hash.
func slowly(in context.Context, w *testworld.World, name, hash string, n int) {
	w.Helper()
	for i := range n {
		r := testworld.Minimal(fmt.Sprint(name, i))
		r.Email = &usersv1.Email{Email: fmt.Sprintf("%s%d@example.com", name, i), IsEmailVerified: true}
		r.HashedPassword = &usersv1.HashedPassword{Value: hash}
		w.Must(w.Gateway.ImportHumanUser(in, r))
	}
}

// guessing lets 20 clients guess at the passwords of people with the slowest hashes, until the test calls stop.
func guessing(w *testworld.World, people int) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	var clients sync.WaitGroup
	for client := range 20 {
		clients.Go(func() {
			for n := client; ctx.Err() == nil; n++ {
				_, _ = w.Auth.CheckPassword(ctx, &usersv1.CheckPasswordRequest{
					LoginName: fmt.Sprint("guessed", n%people), Password: "wrong",
					Client: fmt.Sprint("192.0.2.", client),
				})
			}
		})
	}
	return func() {
		cancel()
		clients.Wait()
	}
}

// While 20 clients guess at the passwords of people with the slowest hashes, people of other organizations log in: at
// once with Herald's own hash, and in turns with slow ones.
func TestSlowHashesDoNotDelayOtherLogins(t *testing.T) { // not parallel: it measures times
	w := testworld.New(t)
	begun := time.Now()
	hash := slowHash(t, "correct horse")
	most := max(3*time.Second, 4*time.Since(begun)) // on a busy machine; behind all slow checks it is 10 s
	_, attacked := w.Org("Attacked")
	_, other := w.Org("Other")
	slowly(attacked, w, "guessed", hash, 100)
	slowly(other, w, "slow", hash, 3)
	w.Somebody("quick", "quick@example.com", "correct horse")
	stop := guessing(w, 100)
	defer stop()
	var in func(name string, tries int) time.Duration
	in = func(name string, tries int) time.Duration {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // as on the page
		defer cancel()
		begun := time.Now()
		_, err := w.Auth.CheckPassword(ctx, &usersv1.CheckPasswordRequest{
			LoginName: name, Password: "correct horse", Client: "198.51.100.1",
		})
		if tries > 1 && fault.From(err).ID == fault.ErrOverloaded.ID {
			return in(name, tries-1)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return time.Since(begun)
	}
	testkit.Until(t, w.Service.DB, "password_tries", "(select count(*) >= 20 from password_tries)")
	var quick []time.Duration
	for range 20 {
		quick = append(quick, in("quick", 1))
	}
	slices.Sort(quick)
	t.Logf("logins take %v, 95 %% at most %v", quick[len(quick)/2], quick[len(quick)*95/100])
	if quick[len(quick)*95/100] > most {
		t.Errorf("quick logins take %v, want at most %v", quick, most)
	}
	for n := range 3 { // a busy machine may take longer for the check before than this one waits
		t.Logf("a login with a slow hash takes %v", in(fmt.Sprint("slow", n), 5))
	}
}
