package internals_test

import (
	"slices"
	"strings"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// accountOf checks a login with an account, written provider/id, as the service auth does.
func accountOf(w *testworld.World, account, tenant, only string) (*usersv1.CheckExternalAccountResponse, error) {
	w.Helper()
	idp, id, _ := strings.Cut(account, "/")
	return w.Auth.CheckExternalAccount(w.Context(), &usersv1.CheckExternalAccountRequest{
		IdpId: idp, ExternalUserId: id, TenantId: tenant, OnlyTenant: only,
	})
}

// Provider, tenant and id together name an account. An e-mail address names nobody.
func TestCheckExternalAccount(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	r := testworld.Linked("ada", "company/1", "school/2")
	r.Email, r.OtpCode = &usersv1.Email{Email: "ada@example.com", IsEmailVerified: true}, "JBSWY3DPEHPK3PXPJBSWY3DP"
	r.Idps[0].TenantId = "Company-Tenant"
	ada := w.Import(w.Admin, r).UserId
	got, err := accountOf(w, "company/1", "company-tenant", "")
	if err != nil || got.UserId != ada || got.OrgId != w.OrgID || !got.OrgActive || got.Generation != 1 ||
		got.OrgGeneration != 1 || got.State != usersv1.UserState_USER_STATE_ACTIVE || !got.NeedsFactor ||
		got.Credential != "idp:company:1" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := accountOf(w, "school/2", "any", "school.example"); err != nil || got.UserId != ada {
		t.Errorf("without a tenant: %v, %v", got, err)
	}
	for account, want := range map[string]string{
		"company/1": "IDP_LINK_OTHER_TENANT", "school/2": "IDP_LINK_OTHER_TENANT", "school/1": "IDP_LINK_NOT_FOUND",
		"company/ada@example.com": "IDP_LINK_NOT_FOUND", "company/": "IDP_LINK_NOT_FOUND", "/1": "IDP_LINK_NOT_FOUND",
	} {
		_, err := accountOf(w, account, "another", "another.example")
		testkit.Refused(t, err, want)
	}
	w.Must(w.Moves()["locked"](w.Admin, ada))
	got, err = accountOf(w, "school/2", "any", "school.example")
	if err != nil || got.State != usersv1.UserState_USER_STATE_LOCKED {
		t.Errorf("%v, %v", got, err)
	}
}

// A login with an account ends with the link, and with it what was made during the login.
func TestLoginsEndWithTheLink(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	ada := w.Import(w.Admin, testworld.Linked("ada", "company/1", "company/2")).UserId
	other := w.Import(w.Admin, testworld.Linked("eve", "company/3")).UserId
	resolve := func(credential string) error {
		_, err := w.Auth.ResolveCaller(w.Context(), &usersv1.ResolveCallerRequest{Subject: &usersv1.CheckedSubject{
			UserId: ada, Generation: 1, Credential: credential,
		}})
		return err
	}
	for credential, want := range map[string]string{"idp:company:1": "idp:company:1", "idp:company:3": "",
		"idp:school:1": "", "idp:company:": "", "idp:": "", "idp:company:%": ""} {
		got := w.Subject(&usersv1.ResolveSubjectRequest{UserId: ada, Credential: credential}).Credential
		if got != want || (resolve(credential) == nil) != (want != "") {
			t.Errorf("%q: the user has %q, %v", credential, got, resolve(credential))
		}
	}
	c := w.Caller(w.Admin, ada, "")
	c.TokenID, c.Credential, c.AuthenticatedAt = "", "idp:company:1", w.Ground.Now()
	made, err := w.Gateway.AddMyPersonalAccessToken(w.As(c), &usersv1.AddMyPersonalAccessTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if n := w.Rows(`personal_access_tokens t join user_idp_links l on l.external_user_id = '1'
			and t.makers @> l.makers where t.id = $1 and t.user_id = any (t.makers)`, made.TokenId); n != 1 {
		t.Error("the token does not have the makers of the link")
	}
	w.Must(w.Gateway.RemoveUserIdpLink(w.Admin, &usersv1.RemoveUserIdpLinkRequest{
		UserId: ada, IdpId: "company", ExternalUserId: "1",
	}))
	testkit.Refused(t, resolve("idp:company:1"), "TOKEN_INVALID")
	if err := resolve("idp:company:2"); err != nil {
		t.Errorf("the other account: %v", err)
	}
	_, err = w.Gateway.AddMyPersonalAccessToken(w.As(c), &usersv1.AddMyPersonalAccessTokenRequest{})
	testkit.Refused(t, err, "TOKEN_INVALID")
	of := &usersv1.ResolveSubjectRequest{UserId: other, Credential: "idp:company:3"}
	if w.Subject(of).Credential == "" {
		t.Error("another user's login ended")
	}
}

func external(name, account string) *usersv1.CreateExternalUserRequest {
	idp, id, _ := strings.Cut(account, "/")
	m := testworld.Minimal(name)
	return &usersv1.CreateExternalUserRequest{User: &usersv1.HumanUserData{
		UserName: name, Profile: m.Profile, Email: m.Email,
		Idps: []*usersv1.IdpLink{{ConfigId: idp, ExternalUserId: id, TenantId: "t1"}},
	}}
}

// A user for an account is active at once, and gets a mail only if the address is not verified. Nobody else made the
// account's link, so it stays when the user gets a role.
func TestCreateExternalUser(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	for name, verified := range map[string]bool{"ada": true, "eve": false} {
		r := external(name, "company/"+name)
		r.OrgId, r.User.Email.IsEmailVerified = w.OrgID, verified
		made, err := w.Auth.CreateExternalUser(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := accountOf(w, "company/"+name, "t1", "")
		if err != nil || got.UserId != made.UserId || got.State != usersv1.UserState_USER_STATE_ACTIVE {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		mails := w.Rows(`codes where user_id = $1 and purpose = 'verifyemail'`, made.UserId)
		if (mails == 0) != verified || w.Rows(`codes where user_id = $1`, made.UserId) != mails {
			t.Errorf("%s: %d mails", name, mails)
		}
		w.AddIamMember(made.UserId, "IAM_OWNER")
		if _, err := accountOf(w, "company/"+name, "t1", ""); err != nil {
			t.Errorf("%s with a role: %v", name, err)
		}
		_, err = w.Auth.CreateExternalUser(t.Context(), r)
		testkit.Refused(t, err, "USER_NAME_TAKEN")
		r.User.UserName = "another"
		_, err = w.Auth.CreateExternalUser(t.Context(), r)
		testkit.Refused(t, err, "IDP_LINK_TAKEN")
	}
	unknown := external("new", "elsewhere/1")
	unknown.OrgId = w.OrgID
	_, err := w.Auth.CreateExternalUser(t.Context(), unknown)
	testkit.Refused(t, err, "IDP_UNKNOWN")
	unnamed := external("", "company/1")
	unnamed.OrgId = w.OrgID
	_, err = w.Auth.CreateExternalUser(t.Context(), unnamed)
	testkit.Refused(t, err, "INVALID_ARGUMENT")
	_, err = w.Auth.CreateExternalUser(t.Context(), external("new", "company/1"))
	testkit.Refused(t, err, "ORG_NOT_FOUND")
}

// Nobody logs in with an account, or gets one, while the organization is inactive.
func TestExternalLoginsOfAnInactiveOrg(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	w.Import(w.Admin, testworld.Linked("ada", "school/1"))
	_, elsewhere := w.Org("elsewhere")
	w.AddIamMember(w.Person(elsewhere, "owner"), "IAM_OWNER")
	w.Must(w.Gateway.DeactivateMyOrg(w.Admin, &usersv1.DeactivateMyOrgRequest{}))
	if got, err := accountOf(w, "school/1", "any", "school.example"); err != nil || got.OrgActive {
		t.Errorf("%v, %v", got, err)
	}
	r := external("eve", "company/2")
	r.OrgId = w.OrgID
	_, err := w.Auth.CreateExternalUser(t.Context(), r)
	testkit.Refused(t, err, "ORG_NOT_ACTIVE")
}

// A login updates the fields that the provider sends, and nothing else.
func TestUpdateExternalUser(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	ada := w.Import(w.Admin, testworld.Linked("ada", "company/1")).UserId
	before := w.User(ada)
	w.Must(w.Auth.UpdateExternalUser(t.Context(), &usersv1.UpdateExternalUserRequest{UserId: ada}))
	if got := w.User(ada); got.Details.Sequence != before.Details.Sequence {
		t.Errorf("nothing to take over changed %v", got)
	}
	w.Must(w.Auth.UpdateExternalUser(t.Context(), &usersv1.UpdateExternalUserRequest{
		UserId: ada, LastName: "Byron", PreferredLanguage: "de-CH",
	}))
	got, was := w.User(ada).GetHuman(), before.GetHuman()
	if got.Profile.LastName != "Byron" || got.Profile.FirstName != was.Profile.FirstName ||
		got.Profile.PreferredLanguage != "de-CH" || got.Profile.DisplayName != was.Profile.DisplayName ||
		got.Email.Email != was.Email.Email {
		t.Errorf("%v", got)
	}
	_, err := w.Auth.UpdateExternalUser(t.Context(), &usersv1.UpdateExternalUserRequest{UserId: "nobody"})
	testkit.Refused(t, err, "USER_NOT_FOUND")
}

// A login takes over all that the provider sends. A new address follows the rule for mails, like any change of the own
// address: it gets a code unless the provider's settings say that it is verified, and the former one gets a notice.
func TestUpdateExternalUserTakesAddressAndPhone(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	for name, c := range map[string]struct {
		verified bool
		mails    []string
	}{"eve": {false, []string{"verifyemail", "emailchanged"}}, "ada": {true, []string{"emailchanged"}}} {
		t.Run(name, func(t *testing.T) {
			r := testworld.Linked(name, "company/"+name)
			r.Email.IsEmailVerified = true
			id := w.Import(w.Admin, r).UserId
			update := &usersv1.UpdateExternalUserRequest{
				UserId: id, NickName: "Nick", Email: "new-" + name + "@example.com",
				Phone: &usersv1.Phone{Phone: "+41791234567", IsPhoneVerified: true},
			}
			if c.verified {
				update.VerifiedEmail = update.Email
			}
			for range 2 { // the second login says nothing new
				w.Must(w.Auth.UpdateExternalUser(t.Context(), update))
			}
			got := w.User(id).GetHuman()
			if got.Email.Email != update.Email || got.Email.IsEmailVerified != c.verified ||
				got.Phone.GetPhone() != "+41791234567" || !got.Phone.GetIsPhoneVerified() ||
				got.Profile.NickName != "Nick" {
				t.Errorf("%v", got)
			}
			kinds, _ := w.Asked(w.OrgID, id)
			slices.Sort(kinds)
			slices.Sort(c.mails)
			if !slices.Equal(kinds, c.mails) {
				t.Errorf("mails %v, want %v", kinds, c.mails)
			}
			if n := w.Rows("events where aggregate_id = $1 and name = 'email_changed' and actor = $1", id); n != 1 {
				t.Errorf("%d changes of the address by the person", n)
			}
		})
	}
}

// The provider's word holds for the address that the user has, in any case, and for no other. Who may not log in stays
// as is.
func TestProviderVerifiesTheAddressOfTheUser(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	ada, eve := w.Import(w.Admin, testworld.Linked("ada", "company/1")), w.Import(w.Admin, testworld.Linked("eve",
		"company/2"))
	w.Must(w.Moves()["locked"](w.Admin, eve.UserId))
	address := w.User(ada.UserId).GetHuman().Email.Email
	for _, c := range []struct {
		id, email string
		want      bool
	}{
		{ada.UserId, "another@example.com", false}, {ada.UserId, strings.ToUpper(address), true},
		{eve.UserId, w.User(eve.UserId).GetHuman().Email.Email, false},
	} {
		w.Must(w.Auth.UpdateExternalUser(t.Context(), &usersv1.UpdateExternalUserRequest{
			UserId: c.id, VerifiedEmail: c.email,
		}))
		got := w.User(c.id).GetHuman().Email
		if got.IsEmailVerified != c.want || got.Email == strings.ToUpper(address) {
			t.Errorf("%s: %v", c.email, got)
		}
	}
}

// A person can link an account while the login with the password is valid, and is then the maker of the link.
func TestLinkExternalAccount(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	r := testworld.Linked("ada", "company/1")
	r.Password = "correct horse"
	ada := w.Import(w.Admin, r).UserId
	w.Import(w.Admin, testworld.Linked("eve", "company/2"))
	generation := uint64(1)
	link := func(credential string, generation uint64, account string) error {
		idp, id, _ := strings.Cut(account, "/")
		_, err := w.Auth.LinkExternalAccount(t.Context(), &usersv1.LinkExternalAccountRequest{
			Subject: &usersv1.CheckedSubject{UserId: ada, Generation: generation, Credential: credential},
			Link:    &usersv1.IdpLink{ConfigId: idp, ExternalUserId: id, TenantId: "T1", DisplayName: "Ada"},
		})
		return err
	}
	for _, c := range []struct {
		credential string
		generation uint64
		account    string
		want       string
	}{
		{"password", generation + 1, "company/3", "TOKEN_INVALID"}, {"", generation, "company/3", "TOKEN_INVALID"},
		{"idp:company:1", generation, "company/3", "TOKEN_INVALID"},
		{"idp:company:2", generation, "company/3", "TOKEN_INVALID"},
		{"password", generation, "company/2", "IDP_LINK_TAKEN"},
		{"password", generation, "company/1", "IDP_LINK_TAKEN"},
		{"password", generation, "elsewhere/3", "IDP_UNKNOWN"},
		{"password", generation, "company/", "INVALID_ARGUMENT"},
	} {
		err := link(c.credential, c.generation, c.account)
		if err == nil {
			t.Fatalf("%v is linked", c)
		}
		testkit.Refused(t, err, c.want)
	}
	w.SetColumns(ada, "email_verified = true")
	if err := link("password", generation, "company/3"); err != nil {
		t.Fatal(err)
	}
	if got, err := accountOf(w, "company/3", "t1", ""); err != nil || got.UserId != ada {
		t.Errorf("%v, %v", got, err)
	}
	if n := w.Rows(`user_idp_links where external_user_id = '3' and $1 = any (makers)`, ada); n != 1 {
		t.Error("somebody else has made the link")
	}
	if n := w.Rows(`events where aggregate = 'idp_link' and name = 'added' and aggregate_id = $1 and actor = $1
			and data = '{"idpId": "company", "notice": "idplinkadded"}'`, ada); n != 1 {
		t.Errorf("%d events", n)
	}
	if n := w.Rows(`notices where user_id = $1 and own and verified`, ada); n != 1 {
		t.Errorf("%d notices of the new link", n)
	}
	w.Must(w.Gateway.LockUser(w.Admin, &usersv1.LockUserRequest{UserId: ada}))
	testkit.Refused(t, link("password", generation, "company/4"), "TOKEN_INVALID")
	testkit.Refused(t, link("password", generation+1, "company/4"), "TOKEN_INVALID")
}
