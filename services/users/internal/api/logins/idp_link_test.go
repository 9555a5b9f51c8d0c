package logins_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	"herald/shared/fault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// A linked account is a first credential. The cases are the rows with a link of the table that
// decides on the initialize-user mail.
func TestLinkDecidesStateAndMail(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	for name, c := range map[string]struct {
		verified bool
		hash     string
		mail     string
	}{
		"link only": {false, "", "verifyemail"}, "hash": {false, testworld.SomeHash, "verifyemail"},
		"verified": {true, "", ""}, "verified, hash": {true, testworld.SomeHash, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := testworld.Linked(name, "company/"+name)
			r.Email.IsEmailVerified, r.HashedPassword = c.verified, testworld.Hashed(c.hash)
			got := w.Import(w.Admin, r)
			if state := w.State(got.UserId); state != usersv1.UserState_USER_STATE_ACTIVE ||
				got.InitMail != usersv1.InitMail_INIT_MAIL_NOT_NEEDED {
				t.Errorf("%v, %v", got, state)
			}
			kinds, ids := w.Asked(w.OrgID, got.UserId)
			if want := strings.Fields(c.mail); !slices.Equal(kinds, want) || w.Rows("codes where user_id = $1",
				got.UserId) != len(want) {
				t.Errorf("mails %v, want %v", kinds, want)
			}
			if c.mail == "" {
				return
			}
			m, err := w.Notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{
				UserId: got.UserId, NotificationId: ids[0],
			})
			if err != nil || m.Code == "" {
				t.Errorf("the mail is %v, %v", m, err)
			}
		})
	}
}

// Links are listed and removed one by one. The user's history has an event of each.
func TestIdpLinks(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	r := testworld.Linked("mini", "company/1", "school/1", "company/a b/c")
	r.Idps[0].TenantId = "72F988BF-86F1-41AF-91AB-2D7CD011DB47"
	id := w.Import(w.Admin, r).UserId
	if got := w.Links(w.Admin, id); !slices.Equal(got, []string{"company/1", "company/a b/c", "school/1"}) {
		t.Errorf("linked to %v", got)
	}
	list, err := w.Gateway.SearchUserIdpLinks(w.Admin, &usersv1.SearchUserIdpLinksRequest{
		UserId: id, Query: &heraldv1.ListQuery{Limit: 1, Asc: true},
	})
	if err != nil || list.Details.TotalResult != 3 || len(list.Result) != 1 ||
		list.Result[0].TenantId != "72f988bf-86f1-41af-91ab-2d7cd011db47" || list.Result[0].DisplayName != "of 1" ||
		list.Result[0].Details.ResourceOwner != w.OrgID {
		t.Errorf("%v, %v", list, err)
	}
	if w.Rows(`events where name = 'imported' and data->'idpIds' = '["company", "school"]'`) != 1 {
		t.Error("the event does not name the providers")
	}
	remove := &usersv1.RemoveUserIdpLinkRequest{UserId: id, IdpId: "company", ExternalUserId: "a b/c"}
	gone, err := w.Gateway.RemoveUserIdpLink(w.Admin, remove)
	if err != nil || gone.Details.Sequence == 0 || gone.Details.ResourceOwner != w.OrgID {
		t.Errorf("%v, %v", gone, err)
	}
	if got := w.Links(w.Admin, id); !slices.Equal(got, []string{"company/1", "school/1"}) {
		t.Errorf("linked to %v", got)
	}
	_, err = w.Gateway.RemoveUserIdpLink(w.Admin, remove)
	testkit.Refused(t, err, "IDP_LINK_NOT_FOUND")
	changes, err := w.Gateway.SearchUserChanges(w.Admin, &usersv1.SearchUserChangesRequest{UserId: id})
	if err != nil || changes.Result[0].EventType != "idp_link.removed" ||
		changes.Result[0].Data.Fields["idpId"].GetStringValue() != "company" ||
		strings.Contains(changes.String(), "a b/c") {
		t.Errorf("%v, %v", changes, err)
	}
}

// Callers list their own links, and remove one after a login of the last ten minutes.
func TestMyIdpLinks(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	r := testworld.Linked("mini", "company/1")
	r.Email.IsEmailVerified = true
	id, other := w.Import(w.Admin, r).UserId, w.Import(w.Admin, testworld.Linked("other", "company/2")).UserId
	c := w.Caller(w.Admin, id, "")
	list, err := w.Gateway.SearchMyIdpLinks(w.As(c), &usersv1.SearchMyIdpLinksRequest{})
	if err != nil || len(list.Result) != 1 || list.Result[0].ExternalUserId != "1" {
		t.Errorf("%v, %v", list, err)
	}
	remove := func(account string) error {
		_, err := w.Gateway.RemoveMyIdpLink(w.As(c), &usersv1.RemoveMyIdpLinkRequest{
			IdpId: "company", ExternalUserId: account,
		})
		return err
	}
	testkit.Refused(t, remove("1"), "FRESH_LOGIN_REQUIRED")
	c.AuthenticatedAt = time.Now().Add(-11 * time.Minute)
	testkit.Refused(t, remove("1"), "FRESH_LOGIN_REQUIRED")
	c.AuthenticatedAt = time.Now().Add(-9 * time.Minute)
	testkit.Refused(t, remove("2"), "IDP_LINK_NOT_FOUND") // another user's
	if err := remove("1"); err != nil || len(w.Links(w.Admin, id)) != 0 || len(w.Links(w.Admin, other)) != 1 {
		t.Error(err)
	}
}

// Callers need a permission to list and remove another user's links. Links of another
// organization's users are not found.
func TestIdpLinkRefusals(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	id := w.Import(w.Admin, testworld.Linked("mini", "company/1")).UserId
	owner := w.Person(w.Admin, "owner")
	w.AddMember(w.Admin, owner, "ORG_OWNER")
	manager, viewer := w.Person(w.Admin, "manager"), w.Person(w.Admin, "viewer")
	w.AddMember(w.Admin, manager, "ORG_USER_MANAGER")
	w.AddMember(w.Admin, viewer, "ORG_OWNER_VIEWER")
	_, elsewhere := w.Org("Elsewhere")
	remove := func(ctx context.Context, userID string) error {
		_, err := w.Gateway.RemoveUserIdpLink(ctx, &usersv1.RemoveUserIdpLinkRequest{
			UserId: userID, IdpId: "company", ExternalUserId: "1",
		})
		return err
	}
	asManager, asViewer := w.Login(w.Admin, manager, ""), w.Login(w.Admin, viewer, "")
	before := w.Rows("events")
	testkit.Refused(t, remove(asViewer, id), "PERMISSION_DENIED", "user.delete")
	testkit.Refused(t, remove(asManager, owner), "ESCALATION")
	testkit.Refused(t, remove(asManager, manager), "FRESH_LOGIN_REQUIRED")
	testkit.Refused(t, remove(elsewhere, id), "IDP_LINK_NOT_FOUND")
	testkit.Refused(t, remove(w.Admin, "nobody"), "IDP_LINK_NOT_FOUND")
	testkit.Refused(t, remove(w.Admin, viewer), "IDP_LINK_NOT_FOUND") // another user's account
	for _, userID := range []string{id, "nobody"} {
		_, err := w.Gateway.SearchUserIdpLinks(elsewhere, &usersv1.SearchUserIdpLinksRequest{UserId: userID})
		testkit.Refused(t, err, "USER_NOT_FOUND")
	}
	_, err := w.Gateway.SearchUserIdpLinks(w.Admin, &usersv1.SearchUserIdpLinksRequest{
		UserId: id, Query: &heraldv1.ListQuery{Limit: 1001},
	})
	testkit.Refused(t, err, "LIMIT_EXCEEDED")
	if w.Rows("events") != before || len(w.Links(asViewer, id)) != 1 {
		t.Error("a refusal changed something")
	}
	if err := remove(asManager, id); err != nil {
		t.Error(err)
	}
}

// Links with which an import is refused.
func TestImportRefusesLinks(t *testing.T) {
	t.Parallel()
	w, known := testworld.NewLinkedWorld(t)
	w.Import(w.Admin, testworld.Linked("mini", "company/1"))
	before := w.Rows("events")
	for name, c := range map[string]struct {
		r        *usersv1.ImportHumanUserRequest
		id, says string
	}{
		"unknown provider": {testworld.Linked("a", "company/2", "nowhere/1"), "IDP_UNKNOWN", "idps[1].configId"},
		"linked already":   {testworld.Linked("a", "company/1"), "IDP_LINK_TAKEN", ""},
		"twice":            {testworld.Linked("a", "company/2", "company/2"), "IDP_LINK_TWICE", "idps[1]"},
		"no provider":      {testworld.Linked("a", "/2"), "INVALID_ARGUMENT", "idps[0].configId"},
		"no account":       {testworld.Linked("a", "company/ "), "INVALID_ARGUMENT", "idps[0].externalUserId"},
		"long account": {testworld.Linked("a", "company/"+strings.Repeat("ü", 201)), "INVALID_ARGUMENT",
			"externalUserId"},
		"control sign": {testworld.Linked("a", "company/a\nb"), "INVALID_ARGUMENT", "idps[0].externalUserId"},
		"NUL":          {testworld.Linked("a", "company/a\x00b"), "INVALID_ARGUMENT", "idps[0].externalUserId"},
		"too many": {testworld.Linked("a", slices.Repeat([]string{"company/2"}, 21)...), "INVALID_ARGUMENT",
			"idps"},
	} {
		for shape, wrap := range map[string]func(*usersv1.ImportHumanUserRequest) *usersv1.ImportHumanUserRequest{
			"flat": testworld.Flat, "wrapped": testworld.Wrapped,
		} {
			_, err := w.Gateway.ImportHumanUser(w.Admin, wrap(c.r))
			if t.Run(name+" "+shape, func(t *testing.T) { testkit.Refused(t, err, c.id, c.says) }); err == nil {
				t.Fatal("it was imported")
			}
		}
	}
	_, err := w.Gateway.ImportHumanUser(w.Admin, testworld.Linked("a", "nowhere/1"))
	if fault.From(err).Code != fault.Precondition {
		t.Error(err)
	}
	known.Org = "another" // the providers belong to this organization
	_, err = w.Gateway.ImportHumanUser(w.Admin, testworld.Linked("a", "company/2"))
	testkit.Refused(t, err, "IDP_UNKNOWN")
	if w.Rows("events") != before || w.Rows("user_idp_links") != 1 {
		t.Error("a refusal wrote something")
	}
}

// A repeated import with links has the same answer, in whatever order the links are, and also after
// the provider was removed. Other links are other content.
func TestRepeatedImportComparesLinks(t *testing.T) {
	t.Parallel()
	w, known := testworld.NewLinkedWorld(t)
	r := testworld.Linked("mini", "company/1", "school/1")
	r.UserId = "m1"
	first := w.Import(w.Admin, r)
	before := w.Rows("events")
	again := func() {
		t.Helper()
		if got, err := w.Gateway.ImportHumanUser(w.Admin, r); err != nil || !proto.Equal(got, first) {
			t.Errorf("%v, %v, want %v", got, err, first)
		}
	}
	again()
	slices.Reverse(r.Idps)
	again()
	known.Org = ""
	again()
	more := testworld.Linked("mini", "company/1")
	more.UserId = "m1"
	for range 2 {
		_, err := w.Gateway.ImportHumanUser(w.Admin, more)
		testkit.Refused(t, err, "IMPORT_DIFFERS", "idps")
		known.Org = w.OrgID
	}
	if w.Rows("events") != before {
		t.Error("something was written")
	}
}

// Without the service idp an import with links fails, and nothing is written.
func TestLinkedImportWithoutIdp(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	before := w.Rows("events")
	_, err := w.Gateway.ImportHumanUser(w.Admin, testworld.Linked("mini", "company/1"))
	testkit.Refused(t, err, "UNAVAILABLE")
	if w.Rows("events") != before || w.Rows("users where user_name = 'mini'") != 0 {
		t.Error("something was written")
	}
	if _, err := w.Gateway.ImportHumanUser(w.Admin, testworld.Minimal("mini")); err != nil {
		t.Errorf("an import without links: %v", err)
	}
}

// The event of a provider's removal removes the links to it.
func TestLinksGoWithTheirProvider(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	mini := w.Import(w.Admin, testworld.Linked("mini", "company/1", "school/1")).UserId
	other := w.Import(w.Admin, testworld.Linked("other", "school/2")).UserId
	cause := testworld.Kit.Publisher(t, w.Ground, "idp").Publish(w.OrgID, "school", "remover", &idpv1.IdpRemoved{})
	testkit.Until(t, w.Service.DB, "user_idp_links",
		"not exists (select from user_idp_links where idp_id = 'school')")
	if got := w.Links(w.Admin, mini); !slices.Equal(got, []string{"company/1"}) || len(w.Links(w.Admin, other)) != 0 {
		t.Errorf("linked to %v", got)
	}
	if n := w.Rows(`events where aggregate = 'idp_link' and actor = 'remover' and data->>'cause' = $1
		and aggregate_id = any ($2)`, cause, []string{mini, other}); n != 2 {
		t.Errorf("%d events", n)
	}
	_, err := w.Gateway.ImportHumanUser(w.Admin, testworld.Linked("late", "school/3")) // idp still has the provider
	testkit.Refused(t, err, "IDP_UNKNOWN")
}

// The links of a removed user are removed. Another user can then be linked to the accounts.
func TestLinksGoWithTheirUser(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	mini := w.Import(w.Admin, testworld.Linked("mini", "company/1", "company/2", "school/1")).UserId
	w.Import(w.Admin, testworld.Linked("other", "school/2"))
	w.Must(w.Gateway.RemoveUser(w.Admin, &usersv1.RemoveUserRequest{UserId: mini}))
	const along = `events e join events c on c.id = e.data->>'cause' and c.aggregate = 'user' and c.name = 'removed'
		where e.aggregate = 'idp_link' and e.aggregate_id = $1 and e.data->>'idpId' in ('company', 'school')`
	if n := w.Rows(along, mini); n != 2 || w.Rows("user_idp_links") != 1 {
		t.Errorf("%d events, or links stay", n)
	}
	w.Import(w.Admin, testworld.Linked("mini", "company/1"))
}
