package signing

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"herald/services/auth/internal/domain"
	"herald/shared/gen/fault/authfault"
)

const (
	issuer   = "https://id.example.com"
	lifetime = time.Hour
)

// client is a client that has read the keys from one replica and asks again at the earliest after some time, even if
// it meets an unknown key.
type client struct {
	*oidc.IDTokenVerifier
	w       *world
	replica *Keys
	keeps   time.Duration

	mu   sync.Mutex
	kept []byte
	at   time.Time
	read int
}

func (w *world) client(replica *Keys, keeps time.Duration) *client {
	c := &client{w: w, replica: replica, keeps: keeps}
	ctx := oidc.ClientContext(w.Context(), &http.Client{Transport: c})
	c.IDTokenVerifier = oidc.NewVerifier(issuer, oidc.NewRemoteKeySet(ctx, issuer+"/oauth/v2/keys"), &oidc.Config{
		ClientID: "c1", Now: w.now, SupportedSigningAlgs: []string{"RS256"},
	})
	return c
}

// RoundTrip answers with the keys that the client keeps, or reads them anew.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.w.now(); c.kept == nil || now.Sub(c.at) > c.keeps {
		c.kept, _ = c.replica.JWKS(r.Context())
		c.at = now
		c.read++
	}
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Request: r, Header: http.Header{},
		Body: io.NopCloser(bytes.NewReader(c.kept))}, nil
}

func (w *world) token(k *Keys, kind Kind) (string, error) {
	now := w.now()
	return k.Sign(kind, map[string]any{
		"iss": issuer, "sub": "u1", "aud": "c1", "iat": now.Unix(), "exp": now.Add(lifetime).Unix(),
	})
}

// In more than a year keys change several times, and one is removed early. Replicas sign and clients verify all the
// time. Replicas read the keys once a day only, clients when they meet an unknown key, and some of
// them not for a day. Every token is accepted from its first to its last minute.
func TestEveryTokenIsAcceptedDuringRotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	replicas := []*Keys{w.replica(), w.replica(), w.replica()}
	w.refresh(replicas...)
	w.refresh(replicas...)
	var clients []*client
	for i, keeps := range []time.Duration{0, time.Hour, 23 * time.Hour, 23 * time.Hour} {
		clients = append(clients, w.client(replicas[i%3], keeps))
	}
	const cycles, perCycle = 1250, 8
	kinds := []Kind{IDToken(), AccessToken(), AccessToken(), AccessToken()}
	signed, verified := map[string]bool{}, 0
	for cycle := range cycles {
		if cycle == cycles/2 {
			removed := w.kid(w.sign(replicas[0], AccessToken()))
			if err := Remove(t.Context(), replicas[0].Store, removed); err != nil {
				t.Fatal(err)
			}
			w.refresh(replicas...)
		}
		tokens := make([]string, len(clients))
		var working sync.WaitGroup
		working.Go(func() { w.refresh(replicas[cycle%3]) })
		for i, c := range clients {
			working.Go(func() {
				var err error
				if tokens[i], err = w.token(replicas[(cycle+i)%3], kinds[i]); err != nil {
					t.Error(err)
				}
				if _, err := c.Verify(t.Context(), tokens[i]); err != nil {
					t.Errorf("cycle %d, fresh, client that keeps keys for %v: %v", cycle, c.keeps, err)
				}
			})
		}
		working.Wait()
		w.pass(lifetime - time.Minute)
		for i, c := range clients {
			working.Go(func() {
				if _, err := c.Verify(t.Context(), tokens[i]); err != nil {
					t.Errorf("cycle %d, in its last minute, client that keeps keys for %v: %v", cycle, c.keeps, err)
				}
				if _, err := replicas[cycle%3].Verify(kinds[i], tokens[i]); err != nil {
					t.Errorf("cycle %d, at another replica: %v", cycle, err)
				}
			})
			signed[w.kid(tokens[i])] = true
		}
		working.Wait()
		verified += perCycle
		w.pass(7 * time.Hour)
		if t.Failed() {
			t.Fatalf("after %d verifications", verified)
		}
	}
	if verified < 10_000 || len(signed) < 5 {
		t.Errorf("%d verifications of tokens that %d keys signed", verified, len(signed))
	}
	for _, c := range clients {
		t.Logf("a client that keeps keys for %v read them %d times", c.keeps, c.read)
		if c.read > 2*len(signed) {
			t.Errorf("a client that keeps keys for %v read them %d times", c.keeps, c.read)
		}
	}
}

// A client that keeps the keys for longer than they were announced fails, so the test above would notice a key that
// signs too early.
func TestKeyWithoutAnnouncementIsUnknownToClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.replica()
	w.refresh(k)
	c := w.client(k, 2*period)
	for range 2 {
		token, err := w.token(k, AccessToken())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Verify(t.Context(), token); err != nil {
			t.Error(err)
		}
		w.pass(period)
		w.refresh(k)
	}
	token, err := w.token(k, AccessToken())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Verify(t.Context(), token); err == nil {
		t.Error("a client verifies with a key that it cannot know")
	}
}

// A key that is removed early is refused by every replica as soon as it has read the keys. The one that was announced
// takes its place at once, and a third one is made.
func TestRemovedKeyIsReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := w.replica()
	stolen := w.sign(k, AccessToken())
	if err := Remove(t.Context(), k.Store, w.kid(stolen)); !errors.Is(err, authfault.ErrSigningKeyLast) {
		t.Errorf("before another key is there: %v", err)
	}
	other := w.replica() // makes the next one
	w.refresh(k)
	announced := w.published(k, domain.RS256)[1]
	if err := Remove(t.Context(), k.Store, w.kid(stolen)); err != nil {
		t.Fatal(err)
	}
	w.refresh(k, other)
	for _, replica := range []*Keys{k, other} {
		if _, err := replica.Verify(AccessToken(), stolen); err == nil {
			t.Error("a removed key is accepted")
		}
		if got := w.kid(w.sign(replica, AccessToken())); got != announced {
			t.Errorf("%s signs, not %s", got, announced)
		}
		w.refresh(replica)
		if ids := w.published(replica, domain.RS256); len(ids) != 2 || ids[0] != announced {
			t.Errorf("published are %v", ids)
		}
	}
	if err := Remove(t.Context(), k.Store, w.kid(stolen)); !errors.Is(err, authfault.ErrSigningKeyNotFound) {
		t.Errorf("removed twice: %v", err)
	}
}

// A key that is activated signs on every replica as soon as it has read the keys, and another one is announced. What
// was signed before stays valid.
func TestActivatedKeySigns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k, other := w.replica(), w.replica()
	w.refresh(k)
	before := w.sign(k, AccessToken())
	announced := w.published(k, domain.RS256)[1]
	if err := Activate(t.Context(), k.Store, announced); err != nil {
		t.Fatal(err)
	}
	w.refresh(k, other, k)
	for _, replica := range []*Keys{k, other} {
		if got := w.kid(w.sign(replica, AccessToken())); got != announced {
			t.Errorf("%s signs, not %s", got, announced)
		}
		if _, err := replica.Verify(AccessToken(), before); err != nil {
			t.Error(err)
		}
	}
	if ids := w.published(k, domain.RS256); len(ids) != 3 {
		t.Errorf("published are %v", ids)
	}
	if err := Activate(t.Context(), k.Store, announced); !errors.Is(err, authfault.ErrSigningKeyNotWaiting) {
		t.Errorf("activated twice: %v", err)
	}
}
