package auth

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/store"
	"herald/shared/caller"
	"herald/shared/event"
)

// SigningKeys lets an operator list and change the keys that sign tokens, in the service's database. Running processes
// use a change within seconds.
type SigningKeys struct{ store store.Store }

// SigningKey is a key that signs tokens.
type SigningKey struct {
	ID, Algorithm string
	// State is announced, signs or published. A published key only verifies.
	State   string
	SignsAt time.Time
}

// NewSigningKeys returns the keys in the service's database.
func NewSigningKeys(db *pgxpool.Pool) SigningKeys {
	// The relay of a running process publishes the events.
	return SigningKeys{store.New(event.Journal{DB: db, Now: time.Now, Committed: func(event.Event) {}})}
}

// List returns all keys, by algorithm and in the order in which they sign.
func (s SigningKeys) List(ctx context.Context) ([]SigningKey, error) {
	all, err := s.store.SigningKeys(ctx)
	if err != nil {
		return nil, err
	}
	var list []SigningKey
	now := time.Now()
	for _, a := range domain.Algorithms() {
		of := all.Of(a)
		for i, k := range of {
			state := "announced"
			if !k.SignsAt.After(now) {
				state = "signs"
				if i+1 < len(of) && !of[i+1].SignsAt.After(now) {
					state = "published"
				}
			}
			list = append(list, SigningKey{k.ID, string(k.Algorithm), state, k.SignsAt})
		}
	}
	return list, nil
}

// Use makes an announced key sign from now on.
func (s SigningKeys) Use(ctx context.Context, id string) error {
	return signing.Activate(asOperator(ctx), s.store, id)
}

// Remove removes a key, so that nothing that it signed is accepted any more.
func (s SigningKeys) Remove(ctx context.Context, id string) error {
	return signing.Remove(asOperator(ctx), s.store, id)
}

// asOperator names the operator as the actor of events.
func asOperator(ctx context.Context) context.Context {
	return caller.With(ctx, caller.Caller{Service: "operator"})
}
