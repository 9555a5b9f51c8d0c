package store_test

import (
	"errors"
	"strings"
	"testing"

	"herald/services/auth/internal/store"
	"herald/shared/gen/fault/authfault"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/search"
	"herald/shared/testkit"
)

// asked is a call of a method of the store for a user. It returns how many of the objects of u1 it found or changed.
type asked struct {
	name   string
	absent error // if nothing is found; nil for a list, which is then empty
	ask    func(w world, userID string) (int, error)
}

// everything has a call of every method about a user. Removals come last.
var everything = []asked{
	{"Consent", nil, func(w world, userID string) (int, error) {
		c, err := w.Consent(w.Context(), userID, "app1")
		return len(c.Scopes), err
	}},
	{"AuthorizedApps", nil, func(w world, userID string) (int, error) {
		list, err := w.AuthorizedApps(w.Context(), session("", userID).Owner(), search.Page{Limit: 10})
		return len(list.Rows), err
	}},
	{"SearchSessions", nil, func(w world, userID string) (int, error) {
		list, err := w.SearchSessions(w.Context(), session("", userID).Owner(), search.Page{Limit: 10})
		return len(list.Rows), err
	}},
	{"LoginsOfUser", nil, func(w world, userID string) (int, error) {
		logins, err := w.LoginsOfUser(w.Context(), userID)
		return len(logins), err
	}},
	{"SessionsBeyond", nil, func(w world, userID string) (int, error) {
		w.must(postgres.SetQuotas(w.Context(), w.db, quota.Settings{Quotas: "sessions=0"}))
		list, err := w.SessionsBeyond(w.Context(), session("another", userID))
		return len(list), err
	}},
	{"UseSession", nil, func(w world, userID string) (int, error) {
		used := session("s1", userID)
		used.Client = "203.0.113.1"
		err := w.UseSession(w.Context(), used)
		return testkit.Rows(w, w.db, "sessions where client = '203.0.113.1'"), err
	}},
	{"WithdrawConsent", authfault.ErrConsentNotFound, func(w world, userID string) (int, error) {
		_, err := w.WithdrawConsent(w.Context(), userID, "app1", &authv1.ConsentWithdrawn{})
		return 1, err
	}},
	{"RevokeApp", authfault.ErrAuthorizedAppNotFound, func(w world, userID string) (int, error) {
		_, err := w.RevokeApp(w.Context(), userID, "app2", &authv1.ConsentWithdrawn{}, &authv1.AuthorizationEnded{})
		return 1, err
	}},
	{"EndSession", authfault.ErrSessionNotFound, func(w world, userID string) (int, error) {
		_, err := w.EndSession(w.Context(), "o", userID, "s1", &authv1.SessionEnded{})
		return 1, err
	}},
	{"EndSessions", nil, func(w world, userID string) (int, error) {
		w.must(w.AddSession(w.Context(), []byte("another"), session("s2", "u1")))
		ended, err := w.EndSessions(w.Context(), session("", userID).Owner(), "", &authv1.SessionEnded{})
		return int(ended), err
	}},
}

// elsewhere lists, by reason, the methods that need not have a user as a condition.
var elsewhere = map[string]string{
	"needs no existing object": "AddAuthRequest Issue GiveConsent AddDevice BeginExternalLogin BeginLogin " +
		"AddSession OpenSession Note",
	"takes a secret, or an id that only its browser knows": "AuthRequest EndAuthRequest Use Token IssueCode Code " +
		"Redeem RefreshToken Rotate AskedDevice Device LetIn Deny RedeemDevice ExternalLogin EndExternalLogin " +
		"Session Login AdvanceLogin EndLogin RevokeToken",
	"takes the id in a token that auth signed": "AuthorizationOfJWT Revoked Authorization End EndLast",
	"handles an event, or is about a whole removal": "EndLoginsLike EndChangedApp EndChangedProject EndChangedOrg " +
		"EndGranted EndNamed EndTrusted EndTrustedOf DeleteOfIdp DeleteOfUser DeleteOfOrg DeleteOfClient",
	"is a task of the instance":     "ClaimLogouts RepeatLogout FinishLogout DeleteExpired",
	"is about the whole instance":   "Settings ChangeSettings",
	"users names the organization":  "Events",
	"is about keys of the instance": "SigningKeys AddSigningKey RemoveSigningKey ActivateSigningKey",
}

// No method finds or changes what another user has. Each finds it for its user.
func TestQueriesFindOnlyObjectsOfTheirOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.AddSession(t.Context(), []byte("cookie"), session("s1", "u1")))
	w.agree("u1", "app1", "openid")
	w.agree("u1", "app2", "openid")
	before := testkit.Rows(t, w.db, "events")
	for _, user := range []string{"u2", ""} {
		for _, m := range everything {
			t.Run(m.name+" for the user "+user, func(t *testing.T) {
				if n, err := m.ask(w, user); !errors.Is(err, m.absent) || m.absent == nil && n != 0 {
					t.Errorf("%d, %v", n, err)
				}
			})
		}
	}
	if testkit.Rows(t, w.db, "events") != before {
		t.Error("something was written")
	}
	for _, m := range everything {
		t.Run(m.name, func(t *testing.T) {
			if n, err := m.ask(w, "u1"); n == 0 || err != nil {
				t.Errorf("%d, %v", n, err)
			}
		})
	}
}

func TestEveryMethodIsCalledForAForeignUser(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range everything {
		names = append(names, m.name)
	}
	reasons := map[string]string{}
	for why, methods := range elsewhere {
		for name := range strings.FieldsSeq(methods) {
			reasons[name] = why
		}
	}
	testkit.Listed[store.Store](t, names, reasons)
}
