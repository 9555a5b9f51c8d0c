package users_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// idps is a double of the service idp. The organization org has the providers company and school, which admits one
// tenant only.
type idps struct {
	idpv1.UnimplementedIdpsServer
	testkit.Unguarded
	org string
}

func (i *idps) ResolveIdps(_ context.Context, r *idpv1.ResolveIdpsRequest) (*idpv1.ResolveIdpsResponse, error) {
	found, tenant := &idpv1.ResolveIdpsResponse{}, "School.example"
	for _, known := range []*idpv1.Idp{
		{Id: "company"},
		{Id: "school", Directory: &idpv1.DirectoryConfig{Tenant: &idpv1.DirectoryTenant{TenantId: &tenant}}},
	} {
		if r.OrgId == i.org && slices.Contains(r.IdpIds, known.Id) {
			found.Idps = append(found.Idps, known)
		}
	}
	return found, nil
}

func newLinkedWorld(t *testing.T) (*world, *idps) {
	t.Helper()
	w := newWorld(t)
	known := &idps{org: w.orgID}
	testkit.Serve(t, w.ground, "idp", known, &idpv1.Idps_ServiceDesc)
	return w, known
}

// linked returns an import of a person with accounts at providers, written provider/account.
func linked(name string, accounts ...string) *usersv1.ImportHumanUserRequest {
	r := minimal(name)
	for _, a := range accounts {
		idp, account, _ := strings.Cut(a, "/")
		r.Idps = append(r.Idps, &usersv1.IdpLink{ConfigId: idp, ExternalUserId: account, DisplayName: "of " + account})
	}
	return r
}

func (w *world) importLinked(r *usersv1.ImportHumanUserRequest) string {
	w.Helper()
	got, err := w.gateway.ImportHumanUser(w.admin, r)
	if err != nil {
		w.Fatal(err)
	}
	return got.UserId
}

// links returns a user's accounts, written provider/account, the newest last.
func (w *world) links(ctx context.Context, userID string) (all []string) {
	w.Helper()
	r, err := w.gateway.SearchUserIdpLinks(ctx, &usersv1.SearchUserIdpLinksRequest{
		UserId: userID, Query: &heraldv1.ListQuery{Asc: true},
	})
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range r.Result {
		all = append(all, l.IdpId+"/"+l.ExternalUserId)
	}
	return all
}

// A linked account is a first credential. The cases are the rows with a link of the table that
// decides on the initialize-user mail.
func TestLinkDecidesStateAndMail(t *testing.T) {
	t.Parallel()
	w, _ := newLinkedWorld(t)
	for name, c := range map[string]struct {
		verified bool
		hash     string
		mail     string
	}{
		"link only": {false, "", "verifyemail"}, "hash": {false, someHash, "verifyemail"},
		"verified": {true, "", ""}, "verified, hash": {true, someHash, ""},
	} {
		r := linked(name, "company/"+name)
		r.Email.IsEmailVerified, r.HashedPassword = c.verified, hashed(c.hash)
		got, err := w.gateway.ImportHumanUser(w.admin, r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		u, err := w.gateway.GetUser(w.admin, &usersv1.GetUserRequest{UserId: got.UserId})
		if err != nil || u.User.State != usersv1.UserState_USER_STATE_ACTIVE ||
			got.InitMail != usersv1.InitMail_INIT_MAIL_NOT_NEEDED {
			t.Errorf("%s: %v, %v, %v", name, got, u, err)
		}
		kinds, ids := w.asked(w.orgID, got.UserId)
		if want := strings.Fields(c.mail); !slices.Equal(kinds, want) || w.rows("codes where user_id = $1",
			got.UserId) != len(want) {
			t.Errorf("%s: mails %v, want %v", name, kinds, want)
		}
		if c.mail == "" {
			continue
		}
		m, err := w.notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{
			UserId: got.UserId, NotificationId: ids[0],
		})
		if err != nil || m.Code == "" {
			t.Errorf("%s: the mail is %v, %v", name, m, err)
		}
	}
}

// Links are listed and removed one by one. The user's history has an event of each.
func TestIdpLinks(t *testing.T) {
	t.Parallel()
	w, _ := newLinkedWorld(t)
	r := linked("mini", "company/1", "school/1", "company/a b/c")
	r.Idps[0].TenantId = "72F988BF-86F1-41AF-91AB-2D7CD011DB47"
	id := w.importLinked(r)
	if got := w.links(w.admin, id); !slices.Equal(got, []string{"company/1", "company/a b/c", "school/1"}) {
		t.Errorf("linked to %v", got)
	}
	list, err := w.gateway.SearchUserIdpLinks(w.admin, &usersv1.SearchUserIdpLinksRequest{
		UserId: id, Query: &heraldv1.ListQuery{Limit: 1, Asc: true},
	})
	if err != nil || list.Details.TotalResult != 3 || len(list.Result) != 1 ||
		list.Result[0].TenantId != "72f988bf-86f1-41af-91ab-2d7cd011db47" || list.Result[0].DisplayName != "of 1" ||
		list.Result[0].Details.ResourceOwner != w.orgID {
		t.Errorf("%v, %v", list, err)
	}
	if w.rows(`events where name = 'imported' and data->'idpIds' = '["company", "school"]'`) != 1 {
		t.Error("the event does not name the providers")
	}
	remove := &usersv1.RemoveUserIdpLinkRequest{UserId: id, IdpId: "company", ExternalUserId: "a b/c"}
	gone, err := w.gateway.RemoveUserIdpLink(w.admin, remove)
	if err != nil || gone.Details.Sequence == 0 || gone.Details.ResourceOwner != w.orgID {
		t.Errorf("%v, %v", gone, err)
	}
	if got := w.links(w.admin, id); !slices.Equal(got, []string{"company/1", "school/1"}) {
		t.Errorf("linked to %v", got)
	}
	_, err = w.gateway.RemoveUserIdpLink(w.admin, remove)
	refused(t, err, "IDP_LINK_NOT_FOUND")
	changes, err := w.gateway.SearchUserChanges(w.admin, &usersv1.SearchUserChangesRequest{UserId: id})
	if err != nil || changes.Result[0].EventType != "idp_link.removed" ||
		changes.Result[0].Data.Fields["idpId"].GetStringValue() != "company" ||
		strings.Contains(changes.String(), "a b/c") {
		t.Errorf("%v, %v", changes, err)
	}
}

// Callers list their own links, and remove one after a login of the last ten minutes.
func TestMyIdpLinks(t *testing.T) {
	t.Parallel()
	w, _ := newLinkedWorld(t)
	r := linked("mini", "company/1")
	r.Email.IsEmailVerified = true
	id, other := w.importLinked(r), w.importLinked(linked("other", "company/2"))
	c := w.caller(w.admin, id, "")
	list, err := w.gateway.SearchMyIdpLinks(w.as(c), &usersv1.SearchMyIdpLinksRequest{})
	if err != nil || len(list.Result) != 1 || list.Result[0].ExternalUserId != "1" {
		t.Errorf("%v, %v", list, err)
	}
	remove := func(account string) error {
		_, err := w.gateway.RemoveMyIdpLink(w.as(c), &usersv1.RemoveMyIdpLinkRequest{
			IdpId: "company", ExternalUserId: account,
		})
		return err
	}
	refused(t, remove("1"), "FRESH_LOGIN_REQUIRED")
	c.AuthenticatedAt = time.Now().Add(-11 * time.Minute)
	refused(t, remove("1"), "FRESH_LOGIN_REQUIRED")
	c.AuthenticatedAt = time.Now().Add(-9 * time.Minute)
	refused(t, remove("2"), "IDP_LINK_NOT_FOUND") // another user's
	if err := remove("1"); err != nil || len(w.links(w.admin, id)) != 0 || len(w.links(w.admin, other)) != 1 {
		t.Error(err)
	}
}

// Callers need a permission to list and remove another user's links. Links of another
// organization's users are not found.
func TestIdpLinkRefusals(t *testing.T) {
	t.Parallel()
	w, _ := newLinkedWorld(t)
	id := w.importLinked(linked("mini", "company/1"))
	owner := w.person(w.admin, "owner")
	w.addMember(w.admin, owner, "ORG_OWNER")
	manager, viewer := w.person(w.admin, "manager"), w.person(w.admin, "viewer")
	w.addMember(w.admin, manager, "ORG_USER_MANAGER")
	w.addMember(w.admin, viewer, "ORG_OWNER_VIEWER")
	_, elsewhere := w.org("Elsewhere")
	remove := func(ctx context.Context, userID string) error {
		_, err := w.gateway.RemoveUserIdpLink(ctx, &usersv1.RemoveUserIdpLinkRequest{
			UserId: userID, IdpId: "company", ExternalUserId: "1",
		})
		return err
	}
	asManager, asViewer := w.login(w.admin, manager, ""), w.login(w.admin, viewer, "")
	before := w.rows("events")
	refused(t, remove(asViewer, id), "PERMISSION_DENIED", "user.delete")
	refused(t, remove(asManager, owner), "ESCALATION")
	refused(t, remove(asManager, manager), "FRESH_LOGIN_REQUIRED")
	refused(t, remove(elsewhere, id), "IDP_LINK_NOT_FOUND")
	refused(t, remove(w.admin, "nobody"), "IDP_LINK_NOT_FOUND")
	refused(t, remove(w.admin, viewer), "IDP_LINK_NOT_FOUND") // another user's account
	for _, userID := range []string{id, "nobody"} {
		_, err := w.gateway.SearchUserIdpLinks(elsewhere, &usersv1.SearchUserIdpLinksRequest{UserId: userID})
		refused(t, err, "USER_NOT_FOUND")
	}
	_, err := w.gateway.SearchUserIdpLinks(w.admin, &usersv1.SearchUserIdpLinksRequest{
		UserId: id, Query: &heraldv1.ListQuery{Limit: 1001},
	})
	refused(t, err, "LIMIT_EXCEEDED")
	if w.rows("events") != before || len(w.links(asViewer, id)) != 1 {
		t.Error("a refusal changed something")
	}
	if err := remove(asManager, id); err != nil {
		t.Error(err)
	}
}

// Links with which an import is refused.
func TestImportRefusesLinks(t *testing.T) {
	t.Parallel()
	w, known := newLinkedWorld(t)
	w.importLinked(linked("mini", "company/1"))
	before := w.rows("events")
	for name, c := range map[string]struct {
		r        *usersv1.ImportHumanUserRequest
		id, says string
	}{
		"unknown provider": {linked("a", "company/2", "nowhere/1"), "IDP_UNKNOWN", "idps[1].configId"},
		"linked already":   {linked("a", "company/1"), "IDP_LINK_TAKEN", ""},
		"twice":            {linked("a", "company/2", "company/2"), "IDP_LINK_TWICE", "idps[1]"},
		"no provider":      {linked("a", "/2"), "INVALID_ARGUMENT", "idps[0].configId"},
		"no account":       {linked("a", "company/ "), "INVALID_ARGUMENT", "idps[0].externalUserId"},
		"long account":     {linked("a", "company/"+strings.Repeat("ü", 201)), "INVALID_ARGUMENT", "externalUserId"},
		"control sign":     {linked("a", "company/a\nb"), "INVALID_ARGUMENT", "idps[0].externalUserId"},
		"NUL":              {linked("a", "company/a\x00b"), "INVALID_ARGUMENT", "idps[0].externalUserId"},
		"too many":         {linked("a", slices.Repeat([]string{"company/2"}, 21)...), "INVALID_ARGUMENT", "idps"},
	} {
		for shape, wrap := range map[string]func(*usersv1.ImportHumanUserRequest) *usersv1.ImportHumanUserRequest{
			"flat": flat, "wrapped": wrapped,
		} {
			_, err := w.gateway.ImportHumanUser(w.admin, wrap(c.r))
			if t.Run(name+" "+shape, func(t *testing.T) { refused(t, err, c.id, c.says) }); err == nil {
				t.Fatal("it was imported")
			}
		}
	}
	_, err := w.gateway.ImportHumanUser(w.admin, linked("a", "nowhere/1"))
	if fault.From(err).Code != fault.Precondition {
		t.Error(err)
	}
	known.org = "another" // the providers belong to this organization
	_, err = w.gateway.ImportHumanUser(w.admin, linked("a", "company/2"))
	refused(t, err, "IDP_UNKNOWN")
	if w.rows("events") != before || w.rows("user_idp_links") != 1 {
		t.Error("a refusal wrote something")
	}
}

// A repeated import with links has the same answer, in whatever order the links are, and also after
// the provider was removed. Other links are other content.
func TestLinkedImportAgain(t *testing.T) {
	t.Parallel()
	w, known := newLinkedWorld(t)
	r := linked("mini", "company/1", "school/1")
	r.UserId = "m1"
	first, err := w.gateway.ImportHumanUser(w.admin, r)
	if err != nil {
		t.Fatal(err)
	}
	before := w.rows("events")
	again := func() {
		t.Helper()
		if got, err := w.gateway.ImportHumanUser(w.admin, r); err != nil || !proto.Equal(got, first) {
			t.Errorf("%v, %v, want %v", got, err, first)
		}
	}
	again()
	slices.Reverse(r.Idps)
	again()
	known.org = ""
	again()
	more := linked("mini", "company/1")
	more.UserId = "m1"
	for range 2 {
		_, err = w.gateway.ImportHumanUser(w.admin, more)
		refused(t, err, "IMPORT_DIFFERS", "idps")
		known.org = w.orgID
	}
	if w.rows("events") != before {
		t.Error("something was written")
	}
}

// Without the service idp an import with links fails, and nothing is written.
func TestLinkedImportWithoutIdp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.rows("events")
	_, err := w.gateway.ImportHumanUser(w.admin, linked("mini", "company/1"))
	refused(t, err, "UNAVAILABLE")
	if w.rows("events") != before || w.rows("users where user_name = 'mini'") != 0 {
		t.Error("something was written")
	}
	if _, err := w.gateway.ImportHumanUser(w.admin, minimal("mini")); err != nil {
		t.Errorf("an import without links: %v", err)
	}
}

// The event of a provider's removal removes the links to it.
func TestLinksGoWithTheirProvider(t *testing.T) {
	t.Parallel()
	w, _ := newLinkedWorld(t)
	mini, other := w.importLinked(linked("mini", "company/1", "school/1")), w.importLinked(linked("other", "school/2"))
	cause := kit.Herald(t, w.ground, "idp").Tell(w.orgID, "school", "remover", &idpv1.IdpRemoved{})
	testkit.Until(t, w.service.DB, "user_idp_links",
		"not exists (select from user_idp_links where idp_id = 'school')")
	if got := w.links(w.admin, mini); !slices.Equal(got, []string{"company/1"}) || len(w.links(w.admin, other)) != 0 {
		t.Errorf("linked to %v", got)
	}
	if n := w.rows(`events where aggregate = 'idp_link' and actor = 'remover' and data->>'cause' = $1
		and aggregate_id = any ($2)`, cause, []string{mini, other}); n != 2 {
		t.Errorf("%d events", n)
	}
	_, err := w.gateway.ImportHumanUser(w.admin, linked("late", "school/3")) // idp still has the provider
	refused(t, err, "IDP_UNKNOWN")
}

// The links of a removed user are removed. Another user can then be linked to the accounts.
func TestLinksGoWithTheirUser(t *testing.T) {
	t.Parallel()
	w, _ := newLinkedWorld(t)
	mini := w.importLinked(linked("mini", "company/1", "company/2", "school/1"))
	w.importLinked(linked("other", "school/2"))
	if _, err := w.gateway.RemoveUser(w.admin, &usersv1.RemoveUserRequest{UserId: mini}); err != nil {
		t.Fatal(err)
	}
	const along = `events e join events c on c.id = e.data->>'cause' and c.aggregate = 'user' and c.name = 'removed'
		where e.aggregate = 'idp_link' and e.aggregate_id = $1 and e.data->>'idpId' in ('company', 'school')`
	if n := w.rows(along, mini); n != 2 || w.rows("user_idp_links") != 1 {
		t.Errorf("%d events, or links stay", n)
	}
	w.importLinked(linked("mini", "company/1"))
}
