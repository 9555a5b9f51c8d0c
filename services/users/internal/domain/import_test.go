package domain_test

import (
	"context"
	"errors"
	"testing"

	"herald/services/users/internal/domain"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

func TestKnownUsersAreCompared(t *testing.T) {
	t.Parallel()
	digest, other := domain.Digest{"userName": "1"}, domain.Digest{"userName": "2"}
	for name, c := range map[string]struct {
		known domain.Known
		want  error
	}{
		"the same":                {domain.Known{OrgID: "o", Digest: digest}, nil},
		"other content":           {domain.Known{OrgID: "o", Digest: other}, usersfault.ErrImportDiffers},
		"not imported":            {domain.Known{OrgID: "o"}, usersfault.ErrUserIDTaken},
		"in another organization": {domain.Known{OrgID: "p", Digest: digest}, usersfault.ErrUserIDTaken},
		"removed":                 {domain.Known{}, usersfault.ErrUserIDTaken},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.known.Repeat("o", digest); !errors.Is(err, c.want) {
				t.Error(err)
			}
		})
	}
}

func TestSettleAs(t *testing.T) {
	t.Parallel()
	for _, ready := range []bool{true, false} {
		for state, want := range map[domain.UserState]domain.UserState{
			0: 0, domain.UserActive: 0, domain.UserInitial: 0,
			domain.UserInactive: domain.UserInactive, domain.UserLocked: domain.UserLocked,
		} {
			u := domain.User{Type: domain.Human, EmailVerified: ready, PasswordHash: "x"}
			mail := u.SettleAs(state, false) != ""
			if want == 0 {
				if want = domain.UserInitial; ready {
					want = domain.UserActive
				}
				if mail == ready || u.State != want {
					t.Errorf("ready %v as %d: %d, mail %v", ready, state, u.State, mail)
				}
				continue
			}
			if mail || u.State != want || u.Uninitialized == ready {
				t.Errorf("ready %v as %d: %d, mail %v, uninitialized %v", ready, state, u.State, mail, u.Uninitialized)
			}
		}
	}
}

// Refusal returns the faults of a row itself, and false for faults of the system.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, own := range []*fault.Fault{
		usersfault.ErrEmailInvalid, usersfault.ErrUserNameTaken, usersfault.ErrOrgNotFound, fault.ErrPermissionDenied,
	} {
		if f, ok := domain.Refusal(own); !ok || f != own {
			t.Errorf("%v is not the row's own", own)
		}
	}
	for _, err := range []error{
		errors.New("broken"), context.Canceled, fault.ErrUnavailable, fault.ErrOverloaded, fault.ErrDeadlineExceeded,
		fault.ErrUnauthenticated,
	} {
		if _, ok := domain.Refusal(err); ok {
			t.Errorf("%v is taken for a row's", err)
		}
	}
}
