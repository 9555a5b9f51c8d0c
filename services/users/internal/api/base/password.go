package base

import (
	"context"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/shared/gen/fault/usersfault"
)

// NewPassword checks a password against the policy and hashes it.
func (b Base) NewPassword(ctx context.Context, typed, field string) (string, error) {
	if err := password.Check(field, typed); err != nil {
		return "", err
	}
	hash, err := b.Passwords.Hash(ctx, typed)
	return hash.Encoded(), err
}

// NextPassword checks and hashes a password that a person chooses. If the old one must be changed, the new one must
// differ from it; otherwise old is empty.
func (b Base) NextPassword(ctx context.Context, old domain.Hidden, typed, field string) (string, error) {
	if err := password.Check(field, typed); err != nil {
		return "", err
	}
	hash, err := password.Parse(string(old))
	if err != nil {
		return "", err
	}
	if !hash.IsZero() {
		same, _, err := b.Passwords.Verify(ctx, hash, typed)
		if err != nil {
			return "", err
		}
		if same {
			return "", usersfault.ErrPasswordUnchanged.On(field, usersfault.ErrPasswordUnchanged.Message)
		}
	}
	return b.NewPassword(ctx, typed, field)
}
