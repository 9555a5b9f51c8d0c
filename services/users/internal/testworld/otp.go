package testworld

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Shown returns the code that an app with a secret shows. oathtool is an independent
// implementation.
func Shown(t testing.TB, key string, at time.Time) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "oathtool", "--totp", "--base32", "--now",
		at.UTC().Format("2006-01-02 15:04:05 UTC"), key).CombinedOutput()
	if err != nil {
		t.Fatalf("oathtool: %v %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// Otp is a world with a person who has an authenticator app.
type Otp struct {
	*World
	Me     caller.Caller
	UserID string
	Key    string
}

// NewOTP imports a person who then adds an app.
func NewOTP(t *testing.T) *Otp {
	t.Helper()
	o := &Otp{World: New(t)}
	o.UserID = o.Person(o.Admin, "mini")
	o.Me = o.Caller(o.Admin, o.UserID, "")
	r, err := o.Add(false)
	if err != nil {
		t.Fatal(err)
	}
	if d := o.Factors()[0].Details; !proto.Equal(d, r.Details) {
		t.Errorf("details %v, added with %v", d, r.Details)
	}
	o.Key = r.Secret
	return o
}

// Ctx returns a context of the person.
func (o *Otp) Ctx() context.Context { return o.As(o.Me) }

// Fresh returns the person's context with a login of just now.
func (o *Otp) Fresh() context.Context {
	c := o.Me
	c.AuthenticatedAt = o.Ground.Now()
	return o.As(c)
}

// Add adds an app to the person's login.
func (o *Otp) Add(replace bool) (*usersv1.AddMyOtpResponse, error) {
	return o.Gateway.AddMyOtp(o.Ctx(), &usersv1.AddMyOtpRequest{Replace: replace})
}

// Verify verifies the app with a code.
func (o *Otp) Verify(code string) (*usersv1.VerifyMyOtpResponse, error) {
	return o.Gateway.VerifyMyOtp(o.Ctx(), &usersv1.VerifyMyOtpRequest{Code: code})
}

// Factors lists the person's second factors.
func (o *Otp) Factors() []*usersv1.AuthFactor {
	o.Helper()
	r, err := o.Gateway.SearchMyAuthFactors(o.Ctx(), &usersv1.SearchMyAuthFactorsRequest{})
	if err != nil {
		o.Fatal(err)
	}
	if r.Details.TotalResult != uint64(len(r.Result)) {
		o.Errorf("%v", r)
	}
	return r.Result
}

// Stored returns the row of the app, to test that a refused call does not change it.
func (o *Otp) Stored() (row string) {
	o.Helper()
	if err := o.Service.DB.QueryRow(o.Context(), `select coalesce(string_agg(f::text, ''), '') from otp_factors f`).
		Scan(&row); err != nil {
		o.Fatal(err)
	}
	return row
}
