package internals_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// samples is how many refused logins of each kind are measured and compared, at least 30. CONTRIBUTING.md has the
// command. A busy machine gives no result, so that a test without the flag compares no times.
var samples = flag.Int("samples", 0, "refused logins of each kind to compare")

// kinds makes people of all kinds and with hashes of all families, and returns their login names by kind.
func kinds(w *testworld.World) map[string]string {
	names := map[string]string{"nobody": "nobody", "machine": "robot", "own hash": "own", "none": "initial"}
	key, tail := strings.Repeat("A", 43), "$"+strings.Repeat("A", 22)+"$"+strings.Repeat("A", 43) // base64
	for kind, hash := range map[string]string{
		"SSHA": "{SSHA}" + strings.Repeat("A", 32), "pbkdf2 of few rounds": testworld.SomeHash,
		"pbkdf2 of many rounds": "$pbkdf2-sha256$600000$c2FsdA$" + key,
		"pbkdf2 of SHA-1":       "$pbkdf2-sha1$1000" + tail,
		"argon2id":              "$argon2id$v=19$m=47104,t=1,p=1" + tail,
		"argon2i":               "$argon2i$v=19$m=4096,t=3,p=1" + tail,
		"scrypt":                "$scrypt$ln=14,r=8,p=1" + tail, "bcrypt": "$2b$10$" + strings.Repeat(".", 53),
		"sha256-crypt": "$5$s$" + strings.Repeat(".", 43), "sha512-crypt": "$6$s$" + strings.Repeat(".", 86),
		"md5-crypt": "$1$s$" + strings.Repeat(".", 22), "phpass": "$P$Bsaltsalt" + strings.Repeat(".", 22),
		"locked": testworld.SomeHash, "inactive": testworld.SomeHash,
	} {
		name := strings.ReplaceAll(kind, " ", "-")
		r := testworld.Minimal(name)
		r.Email = &usersv1.Email{Email: name + "@example.com", IsEmailVerified: true}
		r.HashedPassword = testworld.Hashed(hash)
		id := w.Import(w.Admin, r).UserId
		if kind == "locked" || kind == "inactive" {
			w.Must(w.Moves()[map[string]string{"locked": "locked", "inactive": "deactivated"}[kind]](w.Admin, id))
		}
		names[kind] = name
	}
	w.Somebody("own", "own@example.com", "correct horse")
	w.Import(w.Admin, testworld.Minimal("initial"))
	external := testworld.Linked("external", "company/e1")
	external.Email.IsEmailVerified = true
	w.Import(w.Admin, external)
	names["external only"] = "external"
	_, elsewhere := w.Org("Elsewhere")
	for kind, address := range map[string]string{"inactive organization": "off@example.com",
		"shared address": "own@example.com"} {
		r := testworld.Minimal(strings.ReplaceAll(kind, " ", "-"))
		r.Email = &usersv1.Email{Email: address, IsEmailVerified: true}
		r.HashedPassword = testworld.Hashed(testworld.SomeHash)
		w.Import(elsewhere, r)
		names[kind] = address
	}
	w.Must(w.Gateway.DeactivateMyOrg(elsewhere, &usersv1.DeactivateMyOrgRequest{}))
	w.Must(w.Gateway.CreateMachineUser(w.Admin, &usersv1.CreateMachineUserRequest{UserName: "robot", Name: "R"}))
	return names
}

// Whoever is asked for, and however the password is stored: nothing shows which login was refused, not even its time.
func TestRefusedLoginsTakeTheSameTime(t *testing.T) {
	if *samples != 0 && *samples < 30 {
		t.Fatal("fewer than 30 samples compare nothing")
	}
	w, _ := testworld.NewLinkedWorld(t)
	names := kinds(w)
	if n := testkit.Rows(t, w.Service.DB, "password_costs where format = 'pbkdf2-sha256' "+
		"and specimen like '$pbkdf2-sha256$600000$.%'"); n != 1 {
		t.Error("the slowest format is not noted")
	}
	took := map[string][]float64{}
	order := slices.Collect(maps.Keys(names))
	for n := range cmp.Or(*samples, 1) {
		// In a fixed order a kind would also be measured by what the one before it leaves to do.
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, kind := range order {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			began := time.Now()
			_, err := w.Auth.CheckPassword(ctx, &usersv1.CheckPasswordRequest{
				LoginName: names[kind], Password: fmt.Sprint("wrong ", n), Client: "192.0.2.1",
			})
			took[kind] = append(took[kind], float64(time.Since(began).Microseconds())/1000)
			cancel()
			testkit.Refused(t, err, "LOGIN_WRONG")
		}
		w.Must(w.Service.DB.Exec(t.Context(), "delete from password_tries"))
		w.Must(w.Service.DB.Exec(t.Context(), "delete from strangers"))
	}
	compared(t, took)
}

// Every refusal takes longer than the check of the slowest hash, and a login does not. The bound is below the time that
// the check takes on a fast machine, so that the test is right on every other one.
func TestRefusedLoginTakesAsLongAsTheSlowestHash(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	names := kinds(w)
	const slowest, least = "$pbkdf2-sha256$2000000$c2FsdA$", 250 * time.Millisecond
	w.Must(w.Service.DB.Exec(t.Context(), `update password_costs set specimen = $1 where format = 'pbkdf2-sha256'`,
		slowest+strings.Repeat(".", 43)))
	asks := func(name, password string) (time.Duration, error) {
		began := time.Now()
		_, err := w.Check(name, password)
		return time.Since(began), err
	}
	var soonest atomic.Int64
	soonest.Store(math.MaxInt64)
	lanes := make(chan struct{}, 3) // more at once would be refused on a slow machine
	t.Run("refused", func(t *testing.T) {
		for kind, name := range names {
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				lanes <- struct{}{}
				defer func() { <-lanes }()
				took, err := asks(name, "wrong horse")
				testkit.Refused(t, err, "LOGIN_WRONG")
				if took < least {
					t.Errorf("refused after %v", took)
				}
				for before := soonest.Load(); int64(took) < before; before = soonest.Load() {
					soonest.CompareAndSwap(before, int64(took))
				}
			})
		}
	})
	quickest := time.Duration(math.MaxInt64)
	for n := 0; n < 50 && int64(quickest) >= soonest.Load(); n++ { // on a busy machine some take longer
		took, err := asks("own", "correct horse")
		w.Must(nil, err)
		quickest = min(quickest, took)
	}
	if int64(quickest) >= soonest.Load() {
		t.Errorf("a login takes %v", quickest)
	}
}

// compared compares the times of each kind with those of nobody.
func compared(t *testing.T, took map[string][]float64) {
	t.Helper()
	if *samples == 0 {
		return
	}
	base, variance, middle := moments(took["nobody"])
	for _, kind := range slices.Sorted(maps.Keys(took)) {
		mean, v, median := moments(took[kind])
		n := float64(len(took[kind]) - 1)
		student := (mean - base) / math.Sqrt((v+variance)/n)
		t.Logf("%-22s median %7.2f ms, %+.2f %%, t = %+.2f", kind, median, (median/middle-1)*100, student)
		if math.Abs(median/middle-1) > 0.05 || math.Abs(student) >= 3 {
			t.Errorf("%s shows in the time", kind)
		}
	}
}

func moments(all []float64) (mean, variance, median float64) {
	sorted := slices.Sorted(slices.Values(all[1:])) // the first one measures
	for _, x := range sorted {
		mean += x / float64(len(sorted))
	}
	for _, x := range sorted {
		variance += (x - mean) * (x - mean) / float64(len(sorted)-1)
	}
	return mean, variance, sorted[len(sorted)/2]
}

// A pause after wrong passwords can be read, has an event, and is ended by a new password that a manager sets, by
// unlocking, and by the code of a mail. Browsers in which the person logged in before are not concerned.
func TestPauseEnds(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	const right = "correct horse"
	id := w.Somebody("ada", "ada@example.com", right)
	pause := func() {
		t.Helper()
		for n := range 10 {
			_, err := w.Check("ada", fmt.Sprint("wrong ", n))
			testkit.Refused(t, err, "LOGIN_WRONG")
		}
		_, err := w.Check("ada", right)
		testkit.Refused(t, err, "PASSWORD_LOCKED")
		w.Happened(id, "password_locked", "until")
		until := w.User(id).LockedUntil.AsTime()
		if left := until.Sub(w.Ground.Now()); left <= 10*time.Minute || left > 15*time.Minute {
			t.Errorf("locked until %v", until)
		}
	}
	over := func(how, password string) {
		t.Helper()
		if u := w.User(id); u.LockedUntil != nil {
			t.Errorf("%s: locked until %v", how, u.LockedUntil.AsTime())
		}
		if _, err := w.Check("ada", password); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
	unlock := func() error {
		_, err := w.Gateway.UnlockUser(w.Admin, &usersv1.UnlockUserRequest{UserId: id})
		return err
	}
	pause()
	known := &usersv1.CheckPasswordRequest{LoginName: "ada", Password: right, Client: "192.0.2.1", Browser: "own",
		BrowserUserIds: []string{"somebody", id}}
	if _, err := w.Auth.CheckPassword(t.Context(), known); err != nil {
		t.Errorf("in a browser of the person: %v", err)
	}
	w.Must(nil, unlock())
	over("unlocked", right)
	testkit.Refused(t, unlock(), "USER_NOT_LOCKED")
	pause()
	w.Must(w.Gateway.SetPassword(w.Admin, &usersv1.SetPasswordRequest{UserId: id, Password: "another horse"}))
	over("a manager's password", "another horse")
	pause2 := func() {
		t.Helper()
		for n := range 10 {
			_, _ = w.Check("ada", fmt.Sprint("wrong ", n))
		}
		if w.User(id).LockedUntil == nil {
			t.Error("not locked")
		}
	}
	pause2()
	w.Advance(16 * time.Minute)
	w.SignIn()
	over("the end", "another horse")
	testkit.Refused(t, unlock(), "USER_NOT_LOCKED")
	pause2()
	w.Must(w.Auth.RequestCode(t.Context(), &usersv1.RequestCodeRequest{Kind: "passwordreset", LoginName: "ada"}))
	w.Must(w.Auth.CompleteCode(t.Context(), &usersv1.CompleteCodeRequest{Kind: "passwordreset", UserId: id,
		Code: w.Mail(id).Code, Password: "a third horse"}))
	over("a mailed code", "a third horse")
}

// Wrong passwords in a browser of the person, and at a change of the own password, also begin a pause that can be read,
// has an event, and can be ended. It concerns nobody else, and no other pause hides it.
func TestPausesOfThePersonEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		guess func(w *testworld.World, id, typed string) error
		wrong string
	}{
		"in an own browser": {func(w *testworld.World, id, typed string) error {
			_, err := w.Auth.CheckPassword(w.Context(), &usersv1.CheckPasswordRequest{LoginName: "ada", Password: typed,
				Client: "192.0.2.1", Browser: "own", BrowserUserIds: []string{id}})
			return err
		}, "LOGIN_WRONG"},
		"at a change of the password": {func(w *testworld.World, id, typed string) error {
			_, err := w.Gateway.UpdateMyPassword(w.Fresh(id, w.OrgID), &usersv1.UpdateMyPasswordRequest{
				OldPassword: typed, NewPassword: "another horse"})
			return err
		}, "PASSWORD_WRONG"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t)
			const right = "correct horse"
			id := w.Somebody("ada", "ada@example.com", right)
			for n := range 10 {
				testkit.Refused(t, c.guess(w, id, fmt.Sprint("wrong ", n)), c.wrong)
			}
			testkit.Refused(t, c.guess(w, id, right), "PASSWORD_LOCKED")
			w.Happened(id, "password_locked", "until")
			w.Must(w.Check("ada", right))
			w.Advance(10 * time.Minute)
			w.SignIn()
			for n := range 10 {
				_, err := w.Check("ada", fmt.Sprint("wrong ", n))
				testkit.Refused(t, err, "LOGIN_WRONG")
			}
			// The pause of strangers ends later, and only theirs is left when the other one has ended.
			if left := w.User(id).LockedUntil.AsTime().Sub(w.Ground.Now()); left <= 14*time.Minute {
				t.Errorf("%v are left", left)
			}
			w.Must(w.Gateway.UnlockUser(w.Admin, &usersv1.UnlockUserRequest{UserId: id}))
			if u := w.User(id); u.LockedUntil != nil {
				t.Errorf("locked until %v", u.LockedUntil.AsTime())
			}
			w.Must(w.Check("ada", right))
			w.Must(nil, c.guess(w, id, right))
		})
	}
}

// The code of the first mail ends a pause too.
func TestPauseEndsWithTheFirstPassword(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("ada")
	for n := range 10 {
		_, err := w.Check("ada", fmt.Sprint("wrong ", n))
		testkit.Refused(t, err, "LOGIN_WRONG")
	}
	if w.User(id).LockedUntil == nil {
		t.Error("not locked")
	}
	w.Must(w.Auth.CompleteCode(t.Context(), &usersv1.CompleteCodeRequest{Kind: "init", UserId: id,
		Code: w.Mail(id).Code, Password: "correct horse"}))
	if u := w.User(id); u.LockedUntil != nil {
		t.Errorf("locked until %v", u.LockedUntil.AsTime())
	}
	w.Must(w.Check("ada", "correct horse"))
}
