package base

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
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

// PausePassword notes the pause that a wrong password of a user began. The zero time is none.
func (b Base) PausePassword(ctx context.Context, u domain.User, until time.Time) error {
	if until.IsZero() {
		return nil
	}
	err := b.Store.PausePassword(ctx, u.OrgID, u.ID, until,
		&usersv1.HumanPasswordLocked{Until: timestamppb.New(until)})
	if errors.Is(err, usersfault.ErrUserNotFound) {
		return nil // removed meanwhile
	}
	return err
}

// HashCost returns how slow the check of a hash is. It is zero for a quick one.
func HashCost(encoded domain.Hidden) (domain.HashCost, error) {
	hash, err := password.Parse(string(encoded))
	if err != nil {
		return domain.HashCost{}, err
	}
	format, specimen, estimate, slow := hash.Specimen()
	if !slow {
		return domain.HashCost{}, nil
	}
	return domain.HashCost{Format: format, Specimen: specimen, Estimate: estimate}, nil
}
