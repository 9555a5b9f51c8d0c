package signing

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// Replicas that start at once make one key of each algorithm, and then one that waits.
func TestReplicasMakeOneKeyOfEachAlgorithm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := make([]*Keys, 4)
	var starting sync.WaitGroup
	for i := range replicas {
		starting.Go(func() { replicas[i] = w.replica() })
	}
	starting.Wait()
	// A replica that starts a moment after another makes the key that waits. After a round all know both.
	for _, least := range []int{1, 2, 2} {
		var counts []int
		for _, k := range replicas {
			counts = append(counts, len(w.published(k, domain.RS256)))
		}
		if slices.Min(counts) < least || slices.Max(counts) > 2 {
			t.Fatalf("%v keys, not %d to 2 of each algorithm", counts, least)
		}
		var refreshing sync.WaitGroup
		for _, k := range replicas {
			refreshing.Go(func() { w.refresh(k) })
		}
		refreshing.Wait()
	}
	for _, kind := range []Kind{IDToken(), AccessToken()} {
		if a, b := w.kid(w.sign(replicas[0], kind)), w.kid(w.sign(replicas[3], kind)); a != b {
			t.Errorf("replicas sign %s with %s and %s", kind.typ, a, b)
		}
	}
	rows := 0
	if err := w.db.QueryRow(t.Context(), `select count(*) from events where name = 'added' and actor = 'auth'`).
		Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d events, %v", rows, err)
	}
}

// A key is published long before it signs, signs for its period on every replica, and is published until nobody needs
// what it signed.
func TestKeyIsPublishedBeforeAndAfterItSigns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k, late := w.replica(), w.replica()
	for _, kind := range []Kind{IDToken(), AccessToken()} {
		first := w.kid(w.sign(k, kind))
		w.refresh(k, late)
		ids := w.published(late, kind.algorithm)
		if len(ids) != 2 || ids[0] != first {
			t.Fatalf("published %v, signed by %s", ids, first)
		}
	}
	second := w.published(k, domain.RS256)[1]
	w.pass(period - time.Nanosecond)
	before := w.sign(k, AccessToken())
	w.pass(time.Nanosecond)
	// A replica that has not read the keys again takes the next key at the same time.
	if got := w.kid(w.sign(late, AccessToken())); w.kid(before) == second || got != second {
		t.Errorf("before it signed %s, now %s", w.kid(before), got)
	}
	w.refresh(k)
	if n := len(w.published(k, domain.RS256)); n != 3 {
		t.Errorf("%d keys are published", n)
	}
	w.pass(domain.Overlap - time.Nanosecond)
	w.refresh(k)
	if _, err := k.Verify(AccessToken(), before); err != nil {
		t.Errorf("at the end of the overlap: %v", err)
	}
	w.pass(time.Nanosecond)
	w.refresh(k)
	if _, err := k.Verify(AccessToken(), before); !errors.Is(err, ErrToken) || len(w.published(k, domain.RS256)) != 2 {
		t.Errorf("after the overlap: %v", err)
	}
	w.refresh(late)
	if !slices.Equal(w.published(k, domain.RS256), w.published(late, domain.RS256)) {
		t.Error("another replica publishes other keys")
	}
}

// The published keys have no private part, and neither logs nor events nor the table have one.
func TestPrivateKeyIsSealedAndNotPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.replica()
	var set struct{ Keys []map[string]any }
	jwks, _ := k.JWKS(t.Context())
	if err := json.Unmarshal(jwks, &set); err != nil || len(set.Keys) != 1 {
		t.Fatal(err, set)
	}
	for _, key := range set.Keys {
		var got []string
		for name := range key {
			got = append(got, name)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != "alg e kid kty n use" || key["use"] != "sig" {
			t.Errorf("the key is %v", key)
		}
	}
	stored, err := k.Store.SigningKeys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stored {
		if _, err := parsePair(s.PrivateKey); err == nil {
			t.Error("a private key is not sealed")
		}
		if _, err := w.sealing.Open(s.PrivateKey, domain.SealedPrivateKey, "another"); !errors.Is(err, secret.ErrSeal) {
			t.Errorf("a key can be moved to another row: %v", err)
		}
	}
}

// A replica that cannot read the keys, or cannot open a new one, continues with the keys that it knows.
func TestKeysStayWithoutDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.replica()
	token := w.sign(k, IDToken())
	other, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	stranger := newKeys(Config{Store: k.Store, Sealing: other, Now: w.now})
	if err := stranger.Refresh(t.Context()); !errors.Is(err, secret.ErrSeal) { // it has made the waiting keys before
		t.Errorf("keys of another master key: %v", err)
	}
	if err := k.Refresh(t.Context()); !errors.Is(err, secret.ErrSeal) {
		t.Errorf("a key that another master key sealed: %v", err)
	}
	w.db.Close()
	if err := k.Refresh(t.Context()); err == nil {
		t.Error("no error without the database")
	}
	if _, err := k.Verify(IDToken(), token); err != nil {
		t.Error(err)
	}
	w.sign(k, AccessToken())
}

// A key that cannot be opened is logged.
func TestUnreadableKeyIsLogged(t *testing.T) {
	t.Parallel()
	w, log := newWorld(t), &testkit.Lines{}
	k := w.replica()
	other, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	k.Sealing, k.Log = other, slog.New(slog.NewTextHandler(log, nil))
	k.ring.Store(&ring{}) // as at a start
	testkit.Go(t, k.Run)
	if line := log.Wait(t, "signing keys cannot be read or made"); !strings.Contains(line, secret.ErrSeal.Error()) {
		t.Error(line)
	}
}

// After an event of a key, the next answer has the keys of after it, without waiting for the next Refresh. If they
// cannot be read, nobody may keep the answer.
func TestKeysAreReadAgainAfterAnEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	operator := w.replica()
	w.refresh(operator)
	var events atomic.Uint64
	w.events = events.Load
	k := w.replica()
	removed := w.published(k, domain.RS256)[0]
	if err := Remove(t.Context(), operator.Store, removed); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(w.published(k, domain.RS256), removed) {
		t.Error("the keys were read without an event")
	}
	events.Add(1)
	if slices.Contains(w.published(k, domain.RS256), removed) {
		t.Error("the removed key is published after its event")
	}
	if _, current := k.JWKS(t.Context()); !current {
		t.Error("keys that were read after the event may not be kept")
	}
	events.Add(1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if jwks, current := k.JWKS(ended); current || len(jwks) == 0 {
		t.Errorf("keys that could not be read: %s, current: %v", jwks, current)
	}
}
