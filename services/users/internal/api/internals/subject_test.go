package internals_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/testworld"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// The service auth finds a user of any organization, with everything that tokens depend on.
func TestResolveSubject(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	orgB, inB := w.Org("B")
	id := w.Person(inA, "mini")
	got := w.Subject(&usersv1.ResolveSubjectRequest{UserId: id, OrgIds: []string{orgB, "nowhere"}, WithProfile: true})
	if got.OrgId != orgA || got.State != usersv1.UserState_USER_STATE_ACTIVE || got.Generation != 1 ||
		got.Type != usersv1.UserType_USER_TYPE_HUMAN || got.Credential != "" || got.PublicKey != nil ||
		got.User.GetHuman().GetEmail().GetEmail() != "mini@example.com" || got.User.Id != id {
		t.Errorf("%v", got)
	}
	orgs := map[string]*usersv1.SubjectOrg{}
	for _, o := range got.Orgs {
		orgs[o.Id] = o
	}
	if want := (&usersv1.SubjectOrg{Id: orgA, Name: "A", PrimaryDomain: "a.localhost", Generation: 1,
		State: usersv1.OrgState_ORG_STATE_ACTIVE}); len(orgs) != 2 || !proto.Equal(orgs[orgA], want) ||
		orgs[orgB] == nil {
		t.Errorf("organizations %v, want %v", got.Orgs, want)
	}
	if got := w.Subject(&usersv1.ResolveSubjectRequest{UserId: id}); got.User != nil || len(got.Orgs) != 1 {
		t.Errorf("without the profile: %v", got)
	}
	if got := w.Subject(&usersv1.ResolveSubjectRequest{OrgIds: []string{orgB}}); len(got.Orgs) != 1 || got.OrgId != "" {
		t.Errorf("only organizations: %v", got)
	}
	w.Must(w.Gateway.DeactivateMyOrg(inB, &usersv1.DeactivateMyOrgRequest{}))
	if got := w.Subject(&usersv1.ResolveSubjectRequest{OrgIds: []string{orgB}}); got.Orgs[0].Generation != 2 ||
		got.Orgs[0].State != usersv1.OrgState_ORG_STATE_INACTIVE {
		t.Errorf("an inactive organization: %v", got)
	}
	_, err := w.Auth.ResolveSubject(t.Context(), &usersv1.ResolveSubjectRequest{UserId: "nobody"})
	testkit.Refused(t, err, "USER_NOT_FOUND")
}

// The secret or a key of a machine user has a credential while the user has it.
func TestResolveSubjectWithCredential(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, other := w.Machine(w.Admin, "ci"), w.Machine(w.Admin, "cd")
	made, err := w.SetSecret(w.Admin, id)
	if err != nil {
		t.Fatal(err)
	}
	bySecret := func(userID, clientSecret string) string {
		t.Helper()
		r := &usersv1.ResolveSubjectRequest{UserId: userID, SecretHash: secret.Hash(clientSecret)}
		return w.Subject(r).Credential
	}
	first := bySecret(id, made.ClientSecret)
	if first == "" || bySecret(id, "wrong") != "" || bySecret(other, made.ClientSecret) != "" ||
		w.Subject(&usersv1.ResolveSubjectRequest{UserId: other}).Credential != "" {
		t.Errorf("credential %q", first)
	}
	again, err := w.SetSecret(w.Admin, id)
	if err != nil || bySecret(id, made.ClientSecret) != "" || bySecret(id, again.ClientSecret) == first {
		t.Error("a secret that was replaced counts")
	}
	key, err := w.AddKey(w.Admin, id, testworld.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	got := w.Subject(&usersv1.ResolveSubjectRequest{UserId: id, KeyId: key.KeyId})
	if got.Credential != "key:"+key.KeyId || len(got.PublicKey) == 0 {
		t.Errorf("%v", got)
	}
	for _, r := range []*usersv1.ResolveSubjectRequest{
		{UserId: other, KeyId: key.KeyId}, {UserId: id, KeyId: "nothing"},
	} {
		if got := w.Subject(r); got.Credential != "" || got.PublicKey != nil {
			t.Errorf("%v: %v", r, got)
		}
	}
}

// The credential of an earlier answer is returned while the user has it, without a key.
func TestResolveSubjectStillHasCredential(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	machine, person := w.Machine(w.Admin, "ci"), w.Person(w.Admin, "ada")
	made, err := w.SetSecret(w.Admin, machine)
	if err != nil {
		t.Fatal(err)
	}
	bySecret := w.Subject(&usersv1.ResolveSubjectRequest{UserId: machine,
		SecretHash: secret.Hash(made.ClientSecret)}).Credential
	key, err := w.AddKey(w.Admin, machine, testworld.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ user, credential, want string }{
		{machine, bySecret, bySecret}, {machine, "key:" + key.KeyId, "key:" + key.KeyId},
		{person, "password", "password"},
		{machine, "key:nothing", ""}, {machine, "secret:0123456789abcdef", ""}, {machine, "password", ""},
		{person, bySecret, ""}, {person, "key:" + key.KeyId, ""}, {machine, "other", ""}, {machine, "key:", ""},
	} {
		got := w.Subject(&usersv1.ResolveSubjectRequest{UserId: c.user, Credential: c.credential})
		if got.Credential != c.want || got.PublicKey != nil {
			t.Errorf("%q: %v", c.credential, got)
		}
	}
}

// The caller of a token is the user with roles as they are now, while all is as it was when the token was issued.
func TestResolveCaller(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	orgB, inB := w.Org("B")
	resolve := func(s *usersv1.CheckedSubject, orgID string) (caller.Caller, error) {
		r, err := w.Auth.ResolveCaller(t.Context(), &usersv1.ResolveCallerRequest{Subject: s, OrgId: orgID})
		return caller.FromProto(r.GetCaller()), err
	}
	id := w.Machine(inA, "ci")
	key, err := w.Gateway.AddMachineKey(inA, &usersv1.AddMachineKeyRequest{UserId: id, PublicKey: testworld.PublicKey,
		ExpirationDate: timestamppb.New(time.Now().Add(time.Minute))})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.SetSecret(inA, id)
	if err != nil {
		t.Fatal(err)
	}
	bySecret := w.Subject(&usersv1.ResolveSubjectRequest{UserId: id,
		SecretHash: secret.Hash(made.ClientSecret)}).Credential
	issued := func(credential string) *usersv1.CheckedSubject {
		return &usersv1.CheckedSubject{UserId: id, Generation: 1, Credential: credential,
			Orgs: []*usersv1.CheckedOrg{{Id: orgA, Generation: 1}, {Id: orgB, Generation: 1}}}
	}
	for _, credential := range []string{"", "key:" + key.KeyId, bySecret} {
		c, err := resolve(issued(credential), "")
		if err != nil || c.UserID != id || c.OrganizationID != orgA || c.HomeOrganizationID != orgA ||
			c.TokenID != "" || len(c.Scopes) != 0 {
			t.Errorf("%q: %v, %v", credential, c, err)
		}
	}
	_, err = resolve(issued(""), orgB)
	testkit.Refused(t, err, "PERMISSION_DENIED")
	w.AddMember(inB, id, "ORG_OWNER_VIEWER")
	if c, err := resolve(issued(""), orgB); err != nil || len(c.Memberships) != 1 || c.OrganizationID != orgB {
		t.Errorf("a member: %v, %v", c, err)
	}
	older := issued("")
	older.Generation = 0
	gone := issued("")
	gone.Orgs[1].Id = "nowhere"
	for what, s := range map[string]*usersv1.CheckedSubject{
		"an older generation": older, "an unknown organization": gone, "an unknown key": issued("key:nothing"),
		"an unknown secret": issued("secret:0123456789abcdef"), "an unknown kind": issued("other"),
		"a password": issued("password"), "nobody": {UserId: "nobody", Generation: 1},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := resolve(s, ""); err == nil {
				t.Errorf("%s is a caller", what)
			} else {
				testkit.Refused(t, err, "TOKEN_INVALID")
			}
		})
	}
	// A token ends with the credential that it was requested with.
	w.Advance(2 * time.Minute)
	_, err = resolve(issued("key:"+key.KeyId), "")
	testkit.Refused(t, err, "TOKEN_INVALID")
	_, err = w.RemoveSecret(inA, id)
	if err != nil {
		t.Fatal(err)
	}
	_, err = resolve(issued(bySecret), "")
	testkit.Refused(t, err, "TOKEN_INVALID")
}

// The deactivation of an organization on which a token depends ends it for good.
func TestResolveCallerAfterADeactivation(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	orgB, inB := w.Org("B")
	r := &usersv1.ResolveCallerRequest{Subject: &usersv1.CheckedSubject{
		UserId: w.Machine(inA, "ci"), Generation: 1, Orgs: []*usersv1.CheckedOrg{{Id: orgB, Generation: 1}},
	}}
	w.Must(w.Auth.ResolveCaller(t.Context(), r))
	w.Must(w.Gateway.DeactivateMyOrg(inB, &usersv1.DeactivateMyOrgRequest{}))
	_, err := w.Auth.ResolveCaller(t.Context(), r)
	testkit.Refused(t, err, "TOKEN_INVALID")
	w.Must(w.Gateway.ReactivateMyOrg(inB, &usersv1.ReactivateMyOrgRequest{}))
	_, err = w.Auth.ResolveCaller(t.Context(), r)
	testkit.Refused(t, err, "TOKEN_INVALID")
}

// Tokens that a user gave without a question end with the user's first role, in any organization.
func TestResolveCallerWithoutARole(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, inA := w.Org("A")
	_, inB := w.Org("B")
	id := w.Person(inA, "mini")
	r := &usersv1.ResolveCallerRequest{Subject: &usersv1.CheckedSubject{UserId: id, Generation: 1, NoManager: true,
		Orgs: []*usersv1.CheckedOrg{{Id: orgA, Generation: 1}}}}
	manages := func() bool { return w.Subject(&usersv1.ResolveSubjectRequest{UserId: id}).Manages }
	w.Must(w.Auth.ResolveCaller(t.Context(), r))
	if manages() {
		t.Error("a user without a role manages something")
	}
	w.AddMember(inB, id, "ORG_PROJECT_CREATOR")
	if !manages() {
		t.Error("a user with a role manages nothing")
	}
	_, err := w.Auth.ResolveCaller(t.Context(), r)
	testkit.Refused(t, err, "TOKEN_INVALID")
	r.Subject.NoManager = false
	w.Must(w.Auth.ResolveCaller(t.Context(), r))
}
