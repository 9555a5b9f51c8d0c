package start

import (
	"context"
	"fmt"

	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/secret"
)

// Another makes another administrator with a one-time password, for an operator whom nobody lets in. It changes nobody
// else's account. The administrator belongs to the first organization, or to a new one if that is not active.
func Another(ctx context.Context, s store.Store, passwords *password.Hasher, host string) (Administrator, error) {
	oneTime, random := secret.NewText(secret.RandomString(16)), secret.RandomOf("abcdefghjkmnpqrstuvwxyz23456789", 8)
	hash, err := passwords.Hash(ctx, oneTime.Reveal())
	if err != nil {
		return Administrator{}, fmt.Errorf("another administrator: %w", err)
	}
	orgID, err := s.FirstOrg(ctx)
	if err != nil {
		return Administrator{}, err
	}
	instance, events := describe(host, orgName+" "+random, userName+"-"+random, hash.Encoded())
	if orgID != "" {
		instance.Administrator.OrgID, events.Org = orgID, nil
	}
	if err := s.AddAdministrator(ctx, instance, events); err != nil {
		return Administrator{}, fmt.Errorf("another administrator: %w", err)
	}
	return Administrator{LoginName: instance.Administrator.UserName, Password: oneTime}, nil
}
