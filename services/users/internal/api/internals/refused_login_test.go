package internals_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// Each login that is refused is an event of the search with the reason, and the typed names and passwords are in none.
// Logins that are not refused, and names of nobody, are in none.
func TestRefusedLoginsAreFound(t *testing.T) {
	t.Parallel()
	o := testworld.NewOTP(t)
	o.Must(nil, o.SetPassword(o.UserID, "correct horse", false))
	o.Must(o.Gateway.VerifyMyOtp(o.As(o.Me), &usersv1.VerifyMyOtpRequest{
		Code: testworld.Shown(t, o.Key, o.Ground.Now()),
	}))
	events := usersv1.NewEventsClient(testkit.Calls(t, o.Ground, "users"))
	reasons := func(when string, want ...string) {
		t.Helper()
		found, err := events.ReadEvents(t.Context(), &heraldv1.ReadEventsRequest{
			Types: []string{"human.login_refused"}, Limit: 100,
		})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range found.Result {
			var data struct{ Reason string }
			if err := json.Unmarshal(e.Data, &data); err != nil {
				t.Fatal(err)
			}
			got = append(got, data.Reason)
			typed := strings.Contains(string(e.Data), "horse")
			if typed || e.AggregateId != o.UserID || e.OrgId != o.OrgID {
				t.Errorf("%v", e)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	in, err := o.Check("mini", "correct horse")
	if err != nil || !in.NeedsFactor {
		t.Fatalf("%v, %v", in, err)
	}
	_, err = o.Check("nobody", "wrong horse")
	testkit.Refused(t, err, "LOGIN_WRONG")
	reasons("a login")
	_, err = o.Check("mini", "wrong horse")
	testkit.Refused(t, err, "LOGIN_WRONG")
	reasons("a wrong password", "LOGIN_WRONG")
	for n := range 6 {
		_, err := o.Auth.CheckFactor(t.Context(), &usersv1.CheckFactorRequest{
			UserId: o.UserID, Generation: in.Generation, Code: "000000",
		})
		testkit.Refused(t, err, []string{"CODE_WRONG", "OTP_LOCKED"}[n/5])
	}
	reasons("codes", "LOGIN_WRONG", "OTP_LOCKED")
	o.Must(o.Moves()["locked"](o.Admin, o.UserID))
	o.Must(o.Check("mini", "correct horse"))
	reasons("of a locked user", "LOGIN_WRONG", "OTP_LOCKED", "USER_NOT_ACTIVE")
	for range 11 {
		_, _ = o.Check("mini", "wrong horse")
	}
	reasons("in the pause", "LOGIN_WRONG", "OTP_LOCKED", "PASSWORD_LOCKED", "USER_NOT_ACTIVE")
}
