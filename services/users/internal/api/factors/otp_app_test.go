package factors_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// An application with openid alone prepares a factor, which hinders nobody: the person who adds one replaces it. What
// the person prepares is not replaced by such an application.
func TestPreparedFactorHindersNobody(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	alone := w.Caller(w.Admin, id, "")
	alone.TokenID, alone.ClientID, alone.AuthorizationID, alone.Scopes = "", "app", "a", []string{"openid"}
	app, person := w.As(alone), w.With(id, "", "")
	add := func(ctx context.Context, replace bool) error {
		_, err := w.Gateway.AddMyOtp(ctx, &usersv1.AddMyOtpRequest{Replace: replace})
		return err
	}
	for _, step := range []struct {
		as      context.Context
		replace bool
		want    string
	}{
		{app, false, ""}, {app, false, "OTP_NOT_VERIFIED"}, {app, true, ""}, {person, false, ""},
		{person, false, "OTP_NOT_VERIFIED"}, {app, true, "OTP_NOT_VERIFIED"}, {person, true, ""},
	} {
		err := add(step.as, step.replace)
		if step.want != "" {
			testkit.Refused(t, err, step.want)
		} else if err != nil {
			t.Errorf("%+v: %v", step, err)
		}
	}
}

// A factor ends with the access of an application that made its secret in the person's name, also by a personal access
// token. The person gets a notice if logins asked for it. If an application made only recovery codes, only these
// end with its access. Otherwise it could remove what protects the account.
func TestFactorsEndWithTheAccessOfTheirApplications(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		prepared, verified, renewed string
		byToken, stays, noCodes     bool
	}{
		"prepared by it":              {prepared: "a"},
		"prepared with its token":     {prepared: "a", byToken: true},
		"prepared and verified by it": {prepared: "a", verified: "a"},
		"verified by the person":      {prepared: "a", verified: "person"},
		"verified by it":              {prepared: "person", verified: "a", stays: true, noCodes: true},
		"new codes by it": {prepared: "person", verified: "person", renewed: "a", stays: true,
			noCodes: true},
		"new codes at another login":     {prepared: "person", verified: "a", renewed: "b", stays: true},
		"new codes by the person":        {prepared: "person", verified: "a", renewed: "person", stays: true},
		"prepared by the person":         {prepared: "person", verified: "person", stays: true},
		"prepared at another login":      {prepared: "b", stays: true},
		"verified by the person, others": {prepared: "b", verified: "person", renewed: "b", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t)
			id := w.Person(w.Admin, "mini")
			as := func(who string) context.Context {
				if who == "person" {
					return w.With(id, "", "")
				}
				return trusted(w, id, who)
			}
			prepare := as(test.prepared)
			if test.byToken {
				pat, err := w.Gateway.AddMyPersonalAccessToken(prepare, &usersv1.AddMyPersonalAccessTokenRequest{})
				if err != nil {
					t.Fatal(err)
				}
				c, err := w.Resolve(pat.Token, "")
				if err != nil {
					t.Fatal(err)
				}
				prepare = w.As(c)
			}
			added, err := w.Gateway.AddMyOtp(prepare, &usersv1.AddMyOtpRequest{})
			if err == nil && test.verified != "" {
				_, err = w.Gateway.VerifyMyOtp(as(test.verified),
					&usersv1.VerifyMyOtpRequest{Code: testworld.Shown(t, added.Secret, w.Ground.Now())})
			}
			if err == nil && test.renewed != "" {
				_, err = w.Gateway.RegenerateMyRecoveryCodes(as(test.renewed),
					&usersv1.RegenerateMyRecoveryCodesRequest{})
			}
			if err != nil {
				t.Fatal(err)
			}
			cause := endAccess(w, id)
			removed := w.Rows("events where aggregate = 'otp' and name = 'removed' and data->>'cause' = $1", cause)
			if left := w.Rows("otp_factors"); (left == 1) != test.stays || removed != 1-left {
				t.Errorf("%d factors, %d events", left, removed)
			}
			if n := w.Rows("otp_factors where recovery_codes = '{}'"); test.stays && test.verified != "" &&
				(n == 1) != test.noCodes {
				t.Errorf("the recovery codes of %d factors ended", n)
			}
			if n := w.Rows("events where name = 'recovery_codes_removed' and data->>'cause' = $1",
				cause); (n == 1) != test.noCodes {
				t.Errorf("%d events of recovery codes", n)
			}
			if notices := w.Rows("notices where id like '%-notice' and not own"); (notices == 1) !=
				(test.verified != "" && !test.stays) {
				t.Errorf("%d notices of the removal", notices)
			}
			_, err = w.Gateway.AddMyOtp(as("a"), &usersv1.AddMyOtpRequest{Replace: true})
			testkit.Refused(t, err, "TOKEN_INVALID")
		})
	}
}

// trusted returns a context of a user with a token of just now, which the trusted application app got with an
// authorization.
func trusted(w *testworld.World, userID, authorizationID string) context.Context {
	c := w.Caller(w.Admin, userID, "")
	c.AuthenticatedAt, c.TokenID = w.Ground.Now(), ""
	c.ClientID, c.AuthorizationID, c.ClientTrusted = "app", authorizationID, true
	return w.As(c)
}

// endAccess ends the authorization a, which a user gave the application app, and waits until everything has ended that
// ends with it. It returns the id of the event.
func endAccess(w *testworld.World, userID string) (cause string) {
	w.Helper()
	other := w.Person(w.Admin, "maxi")
	w.Must(w.Gateway.AddMyPersonalAccessToken(w.With(other, "app", "a"), &usersv1.AddMyPersonalAccessTokenRequest{}))
	auth := testworld.Kit.Publisher(w, w.Ground, "auth")
	cause = auth.Publish(w.OrgID, "a", userID, &authv1.AuthorizationEnded{UserId: userID, ClientId: "app"})
	// Events of one authorization are handled in their order, so the end of another user's token is the last.
	auth.Publish(w.OrgID, "a", other, &authv1.AuthorizationEnded{UserId: other, ClientId: "app"})
	testkit.Until(w, w.Service.DB, "personal_access_tokens",
		`not exists (select from personal_access_tokens where user_id = $1 and client_id = 'app')`, other)
	return cause
}

// Only a trusted application makes new recovery codes for somebody. One that is not trusted ends nothing of the factor
// with its access.
func TestUntrustedApplicationMakesNoRecoveryCodes(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	person := w.With(id, "", "")
	added, err := w.Gateway.AddMyOtp(person, &usersv1.AddMyOtpRequest{})
	if err == nil {
		_, err = w.Gateway.VerifyMyOtp(person,
			&usersv1.VerifyMyOtpRequest{Code: testworld.Shown(t, added.Secret, w.Ground.Now())})
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Gateway.RegenerateMyRecoveryCodes(w.With(id, "app", "a"), &usersv1.RegenerateMyRecoveryCodesRequest{})
	testkit.Refused(t, err, "APP_NOT_TRUSTED")
	endAccess(w, id)
	if n := w.Rows("otp_factors where state = 2 and recovery_codes <> '{}'"); n != 1 {
		t.Error("the factor or its codes ended with the access of the application")
	}
}
