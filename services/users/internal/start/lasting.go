package start

import (
	"context"
	"fmt"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/secret"
)

// lastingKey is the name of the only key.
const lastingKey = "users"

// LastingKey returns the lasting key, which the first start makes.
func LastingKey(ctx context.Context, db store.Store, keys secret.Keys) (domain.Lasting, error) {
	made := keys.Seal([]byte(secret.NewKeyText()), domain.SealedLastingKey, lastingKey)
	held, err := db.LastingKey(ctx, lastingKey, made)
	if err != nil {
		return domain.Lasting{}, err
	}
	text, err := keys.Open(held, domain.SealedLastingKey, lastingKey)
	if err != nil {
		return domain.Lasting{}, fmt.Errorf("lasting key: %w", err)
	}
	return domain.NewLasting(secret.NewText(string(text)))
}
