package signing

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/shared/event"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var kit = testkit.New("auth", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

const (
	day    = 24 * time.Hour
	period = 90 * day
)

// world is a database and a clock that several replicas share.
type world struct {
	testing.TB
	db      *pgxpool.Pool
	sealing secret.Keys
	mu      sync.Mutex
	time    time.Time
	events  func() uint64 // of keys, as the replicas that open next hear them
}

func newWorld(t testing.TB) *world {
	t.Helper()
	sealing, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	return &world{TB: t, db: kit.Pool(t), sealing: sealing, time: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.time
}

// pass moves the clock.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.time = w.time.Add(d)
}

// replica opens the keys as another process does.
func (w *world) replica() *Keys {
	w.Helper()
	journal := event.Journal{DB: w.db, Now: w.now, Committed: func(event.Event) {}}
	k, err := Open(w.Context(), Config{
		Store: store.New(journal), Sealing: w.sealing, Now: w.now, Epoch: w.events,
	})
	if err != nil {
		w.Fatal(err)
	}
	return k
}

func (w *world) refresh(replicas ...*Keys) {
	w.Helper()
	for _, k := range replicas {
		if err := k.Refresh(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *world) sign(k *Keys, kind Kind) string {
	w.Helper()
	token, err := k.Sign(kind, map[string]string{"sub": "u1"})
	if err != nil {
		w.Fatal(err)
	}
	return token
}

// kid returns the id of the key that signed a token.
func (w *world) kid(token string) string {
	w.Helper()
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		w.Fatal(err)
	}
	return signed.Signatures[0].Protected.KeyID
}

// published returns the ids of the keys of an algorithm in the JWK Set.
func (w *world) published(k *Keys, a domain.Algorithm) (ids []string) {
	w.Helper()
	var set jose.JSONWebKeySet
	jwks, _ := k.JWKS(w.Context())
	if err := json.Unmarshal(jwks, &set); err != nil {
		w.Fatal(err)
	}
	for _, key := range set.Keys {
		if key.Algorithm == string(a) {
			ids = append(ids, key.KeyID)
		}
	}
	return ids
}

// foreignRSA is a key pair of somebody else.
var foreignRSA = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		panic(err)
	}
	return key
})

func publicDER(t testing.TB, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
