package caller_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/secret"
	"herald/shared/testkit"
)

var (
	user = caller.Caller{
		UserID: "u", OrganizationID: "o", HomeOrganizationID: "h", Scopes: []string{"openid", "profile"},
		Memberships: []caller.Membership{
			{Roles: []string{"IAM_USER_MANAGER"}}, {OrganizationID: "o", Roles: []string{"ORG_OWNER",
				"ORG_OWNER_VIEWER"}}, {OrganizationID: "o", ProjectID: "p", Roles: []string{"PROJECT_OWNER"}},
		},
		AuthenticatedAt: time.Unix(1_700_000_000, 0), TokenID: "t",
		ClientID: "a", ClientProjectID: "b", ClientTrusted: true, Credential: "key:c",
	}
	service = caller.Caller{Service: "notification"}
)

func newKeys(t testing.TB) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newSigner(t testing.TB, keys secret.Keys) (caller.Signer, *testkit.Clock) {
	t.Helper()
	c := testkit.ClockAt(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return caller.NewSigner(keys, c.Now), c
}

func TestSignAndVerify(t *testing.T) {
	t.Parallel()
	s, _ := newSigner(t, newKeys(t))
	for _, c := range []caller.Caller{user, service, {}, {UserID: "ü \"\x00\n"}} {
		got, err := s.Verify(s.Sign(c))
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%+v became %+v, %v", c, got, err)
		}
	}
	if strings.ContainsAny(s.Sign(user), " \r\n\x00") {
		t.Error("not a header")
	}
}

func forged(t *testing.T, s caller.Signer, what, header string) {
	t.Helper()
	if c, err := s.Verify(header); !errors.Is(err, fault.ErrCallerNotAuthentic) ||
		!reflect.DeepEqual(c, caller.Caller{}) {
		t.Errorf("%s: %+v, %v", what, c, err)
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	s, clock := newSigner(t, newKeys(t))
	header := s.Sign(user)
	for after, counts := range map[time.Duration]bool{
		0: true, caller.Lifetime: true, caller.Lifetime + time.Millisecond: false, time.Hour: false,
		-caller.Lifetime: true, // the verifier's clock is behind
	} {
		clock.Advance(after)
		if !counts {
			forged(t, s, after.String(), header)
		} else if _, err := s.Verify(header); err != nil {
			t.Errorf("%v after: %v", after, err)
		}
		clock.Advance(-after)
	}
}

// All headers that were not signed are refused, even if they decode to the same value.
func TestTampering(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	s, _ := newSigner(t, keys)
	for _, c := range []caller.Caller{user, service} {
		header := s.Sign(c)
		if _, err := s.Verify(header); err != nil { // from here on it is remembered
			t.Fatal(err)
		}
		for i := range header {
			for b := range 256 {
				if tampered := header[:i] + string([]byte{byte(b)}) + header[i+1:]; tampered != header {
					forged(t, s, "another byte", tampered)
				}
			}
			for _, more := range []string{"A", "=", ".", "\n", "\r", " "} {
				forged(t, s, "one more byte", header[:i]+more+header[i:])
			}
			forged(t, s, "cut", header[:i])
			forged(t, s, "one byte less", header[:i]+header[i+1:])
		}
		for _, more := range []string{"A", "=", ".", "\n", "\r", " ", "." + header} {
			forged(t, s, "longer", header+more)
		}
	}
	ours, theirs := strings.Split(s.Sign(user), "."), strings.Split(s.Sign(service), ".")
	forged(t, s, "another's signature", ours[0]+"."+theirs[1])
	other, _ := newSigner(t, newKeys(t))
	forged(t, s, "another key", other.Sign(user))
	forged(t, s, "no payload", "."+ours[1])
	for _, nothing := range []string{"", ".", "..", "a", "a.b", "\x00.\x00"} {
		forged(t, s, "nothing", nothing)
	}
}

func FuzzVerify(f *testing.F) {
	s, _ := newSigner(f, newKeys(f))
	good := map[string]bool{}
	for _, c := range []caller.Caller{user, service, {}} {
		header := s.Sign(c)
		good[header] = true
		f.Add(header)
	}
	f.Add("")
	f.Add("CgF1.AAAA")
	f.Fuzz(func(t *testing.T, header string) {
		if c, err := s.Verify(header); err == nil && !good[header] {
			t.Errorf("%q was taken for %+v", header, c)
		}
	})
}

func TestCan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		caller     caller.Caller
		permission string
		project    string
		want       bool
	}{
		"in the organization": {user, "policy.write", "", true},
		"in the instance": {caller.Caller{OrganizationID: "any", Memberships: user.Memberships[:1]},
			"user.write", "", true},
		"in another organization": {caller.Caller{OrganizationID: "other", Memberships: user.Memberships[1:]},
			"policy.write", "", false},
		"on the project": {caller.Caller{OrganizationID: "o", Memberships: user.Memberships[2:]},
			"project.write", "p", true},
		"on another project": {caller.Caller{OrganizationID: "o", Memberships: user.Memberships[2:]},
			"project.write", "q", false},
		"on no project": {caller.Caller{OrganizationID: "o", Memberships: user.Memberships[2:]},
			"project.write", "", false},
		"nobody":                   {caller.Caller{}, "user.read", "", false},
		"a service":                {service, "user.read", "", false},
		"what nobody ever may":     {user, "", "", false},
		"not above the own scopes": {user, "iam.write", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.caller.Can(c.permission, c.project); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	if !user.InInstance() || service.InInstance() || (caller.Caller{Memberships: user.Memberships[1:]}).InInstance() {
		t.Error("who is in the instance")
	}
	if user.Actor() != "u" || service.Actor() != "notification" || (caller.Caller{}).Actor() != "" {
		t.Error("who acts")
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	if got := caller.From(t.Context()); !reflect.DeepEqual(got, caller.Caller{}) {
		t.Errorf("nobody is %+v", got)
	}
	ctx := caller.With(t.Context(), user)
	if got := caller.From(context.WithoutCancel(ctx)); !reflect.DeepEqual(got, user) {
		t.Errorf("got %+v", got)
	}
}

func BenchmarkVerify(b *testing.B) {
	s, _ := newSigner(b, newKeys(b))
	header := s.Sign(user)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Verify(header); err != nil {
			b.Fatal(err)
		}
	}
}
