package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/gen/fault/authfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func (w world) agree(userID, clientID string, scopes ...string) {
	w.Helper()
	w.must(w.GiveConsent(w.Context(), domain.Consent{
		UserID: userID, ClientID: clientID, OrgID: "o1", ClientOrgID: "o2", Scopes: scopes,
	}, &authv1.ConsentGiven{UserId: userID, ClientId: clientID, Scopes: scopes}))
}

func (w world) agreed(userID, clientID string) []string {
	w.Helper()
	c, err := w.Consent(w.Context(), userID, clientID)
	w.must(err)
	return c.Scopes
}

// A consent grows with what a person agrees to. It ends with all that the person gave the client, and no other ends.
func TestWithdrawnConsentEndsAuthorizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agree("u1", "app", "openid", "profile")
	w.agree("u1", "app", "openid", "email")
	w.agree("u1", "other", "openid")
	w.agree("u2", "app", "openid", "phone")
	if got := w.agreed("u1", "app"); !slices.Equal(got, []string{"email", "openid", "profile"}) {
		t.Errorf("%v", got)
	}
	if got := w.agreed("u2", "other"); got != nil {
		t.Errorf("somebody who was not asked: %v", got)
	}
	w.issue(authorization("of u1", "u1", time.Hour), time.Hour)
	w.issue(authorization("of u2", "u2", time.Hour), time.Hour)
	for _, withdrawn := range []struct {
		userID, clientID string
		want             error
	}{
		{"u2", "other", authfault.ErrConsentNotFound}, {"u1", "app", nil}, {"u1", "app", authfault.ErrConsentNotFound},
	} {
		_, err := w.WithdrawConsent(t.Context(), withdrawn.userID, withdrawn.clientID, &authv1.ConsentWithdrawn{})
		if !errors.Is(err, withdrawn.want) {
			t.Errorf("%s of %s: %v", withdrawn.clientID, withdrawn.userID, err)
		}
	}
	for id, want := range map[string]bool{"of u1": false, "of u2": true} {
		if _, err := w.Token(t.Context(), domain.KindAccess, secret.Hash(id)); (err == nil) != want {
			t.Errorf("the token %s: %v", id, err)
		}
	}
	if w.agreed("u1", "app") != nil || w.agreed("u1", "other") == nil || w.agreed("u2", "app") == nil {
		t.Error("another consent was taken back, or not the one")
	}
	for what, want := range map[string]int{
		"events where name = 'given' and aggregate_id = 'u1'":     3,
		"events where name = 'withdrawn' and aggregate_id = 'u1'": 1,
	} {
		if got := testkit.Rows(t, w.db, what); got != want {
			t.Errorf("%d %s, want %d", got, what, want)
		}
	}
}

// A consent is deleted with its user, the user's organization or the application.
func TestConsentIsDeletedWithWhatIsRemoved(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(world) (bool, error){
		"user":        func(w world) (bool, error) { return w.DeleteOfUser(w.Context(), of("u1")) },
		"org":         func(w world) (bool, error) { return w.DeleteOfOrg(w.Context(), of("o1")) },
		"application": func(w world) (bool, error) { return w.DeleteOfClient(w.Context(), of("app")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.agree("u1", "app", "openid")
			w.must(w.GiveConsent(t.Context(), domain.Consent{UserID: "u2", ClientID: "other", OrgID: "o3"},
				&authv1.ConsentGiven{UserId: "u2"}))
			if more, err := remove(w); more || err != nil {
				t.Errorf("%t, %v", more, err)
			}
			if testkit.Rows(t, w.db, "consents") != 1 || testkit.Rows(t, w.db, "consents where user_id = 'u2'") != 1 {
				t.Error("the consents are not as they should be")
			}
		})
	}
}
