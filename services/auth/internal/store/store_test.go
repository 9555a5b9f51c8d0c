package store_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/shared/gen/fault/authfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("auth", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a database at a fixed time.
type world struct {
	testing.TB
	store.Store
	db *pgxpool.Pool
}

// keep is how long past logins are kept.
const keep = 30 * 24 * time.Hour

func newWorld(t *testing.T) world {
	t.Helper()
	j := kit.Journal(t)
	j.Now = func() time.Time { return now }
	return world{t, store.New(j), j.DB}
}

// add adds a key that signs so long from now, if there is none after last.
func (w world) add(id string, a domain.Algorithm, from time.Duration, last time.Time) {
	w.Helper()
	if err := w.AddSigningKey(w.Context(),
		domain.SigningKey{ID: id, Algorithm: a, PrivateKey: []byte(id), SignsAt: now.Add(from)}, last,
		&authv1.SigningKeyAdded{Algorithm: string(a)}); err != nil {
		w.Fatal(err)
	}
}

func (w world) remove(id string) error {
	return w.RemoveSigningKey(w.Context(), id, func(r domain.Removal) proto.Message {
		return &authv1.SigningKeyRemoved{Algorithm: string(r.Algorithm)}
	})
}

// ids returns the ids of all keys, each followed by ! if it signs already, in their order.
func (w world) ids() (ids string) {
	w.Helper()
	keys, err := w.SigningKeys(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	for _, k := range keys {
		ids += k.ID
		if !k.SignsAt.After(now) {
			ids += "!"
		}
	}
	return ids
}

func TestSecondReplicaAddsNoKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a", domain.RS256, 0, time.Time{})
	w.add("b", domain.RS256, 0, time.Time{}) // another replica that saw none
	w.add("c", "ES256", 0, time.Time{})
	w.add("d", domain.RS256, time.Hour, now)
	w.add("e", domain.RS256, 2*time.Hour, now) // another replica that saw only a
	if got := w.ids(); got != "a!c!d" {
		t.Errorf("the keys are %s", got)
	}
	keys, err := w.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if k := keys[2]; k.Algorithm != domain.RS256 || string(k.PrivateKey) != "d" ||
		!k.SignsAt.Equal(now.Add(time.Hour)) || !k.CreatedAt.Equal(now) || !k.ChangedAt.Equal(now) || k.Sequence == 0 {
		t.Errorf("stored is %+v", k)
	}
}

func TestNextKeySignsAfterRemoval(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id, want string
		err      error
	}{
		"one that signed":          {"old", "now!ec!next", nil},
		"the one that signs":       {"now", "old!ec!next!", nil},
		"one that waits":           {"next", "old!now!ec!", nil},
		"the only one of its kind": {"ec", "old!now!ec!next", authfault.ErrSigningKeyLast},
		"an unknown one":           {"missing", "old!now!ec!next", authfault.ErrSigningKeyNotFound},
		"an id that cannot be one": {"", "old!now!ec!next", authfault.ErrSigningKeyNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add("old", domain.RS256, -2*time.Hour, time.Time{})
			w.add("now", domain.RS256, -time.Hour, now.Add(-2*time.Hour))
			w.add("ec", "ES256", -time.Hour/2, time.Time{})
			w.add("next", domain.RS256, time.Hour, now.Add(-time.Hour))
			if err := w.remove(test.id); !errors.Is(err, test.err) {
				t.Error(err)
			}
			if got := w.ids(); got != test.want {
				t.Errorf("left are %s", got)
			}
		})
	}
}

func TestActivatedKeySignsNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("now", domain.RS256, 0, time.Time{})
	w.add("next", domain.RS256, time.Hour, now)
	for id, want := range map[string]error{
		"now": authfault.ErrSigningKeyNotWaiting, "missing": authfault.ErrSigningKeyNotFound, "next": nil,
	} {
		if err := w.ActivateSigningKey(t.Context(), id, func(k domain.SigningKey) proto.Message {
			return &authv1.SigningKeyActivated{Algorithm: string(k.Algorithm)}
		}); !errors.Is(err, want) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if got := w.ids(); !strings.Contains(got, "next!") {
		t.Errorf("the keys are %s", got)
	}
}

// If two keys are removed at the same time, the second removal sees the first.
func TestSimultaneousRemovalsKeepOneKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("now", domain.RS256, 0, time.Time{})
	w.add("next", domain.RS256, time.Hour, now)
	results := make(chan error, 2)
	for _, id := range []string{"now", "next"} {
		go func() { results <- w.remove(id) }()
	}
	first, second := <-results, <-results
	failed := errors.Join(first, second)
	if !errors.Is(failed, authfault.ErrSigningKeyLast) || first != nil && second != nil {
		t.Errorf("%v, %v", first, second)
	}
	if got := w.ids(); got != "now!" && got != "next!" {
		t.Errorf("left are %s", got)
	}
}
