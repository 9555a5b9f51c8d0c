package imports_test

import (
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// linkedRow returns a row of a bulk import: a person with accounts at providers, written
// provider/account.
func linkedRow(id string, accounts ...string) *usersv1.ImportHumanUserRow {
	return &usersv1.ImportHumanUserRow{UserId: id, User: testworld.Wrapped(testworld.Linked(id, accounts...)).User}
}

// For rows with linked accounts, the check reports what the import then does. A repeated import has
// the same answer.
// A provider whose addresses are verified verifies those of imported people who are linked to it, whatever the import
// says.
func TestImportWithALinkToAProviderThatVerifies(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	one := testworld.Linked("one", "staff/1")
	one.UserId = "one"
	other := row("other")
	other.User.Email.IsEmailVerified = false
	other.User.Idps = []*usersv1.IdpLink{{ConfigId: "staff", ExternalUserId: "2"}}
	mixed := row("mixed")
	mixed.User.Email.IsEmailVerified = false
	mixed.User.Idps = []*usersv1.IdpLink{{ConfigId: "company", ExternalUserId: "3"}}
	bulk := testworld.Bulk(w.OrgID, other, mixed)
	if checked, err := w.Gateway.CheckImport(w.Admin, bulk); err != nil || checked.Mails != 1 {
		t.Errorf("the check says %v, %v", checked, err)
	}
	first := w.Import(w.Admin, one)
	if _, errs := w.Imported(w.Admin, bulk); len(errs) > 0 {
		t.Fatal(errs)
	}
	for id, verified := range map[string]bool{"one": true, "other": true, "mixed": false} {
		kinds, _ := w.Asked(w.OrgID, id)
		if got := w.User(id).GetHuman().Email.IsEmailVerified; got != verified || len(kinds) != 0 == verified {
			t.Errorf("%s: verified %t, mails %v", id, got, kinds)
		}
	}
	if again, err := w.Gateway.ImportHumanUser(w.Admin, one); err != nil || !proto.Equal(again, first) {
		t.Errorf("the import again: %v, %v", again, err)
	}
}

func TestImportUsersLinked(t *testing.T) {
	t.Parallel()
	w, known := testworld.NewLinkedWorld(t)
	w.Import(w.Admin, testworld.Linked("before", "company/taken"))
	verified := linkedRow("verified", "company/2")
	verified.User.Email.IsEmailVerified = true
	all := []*usersv1.ImportHumanUserRow{
		linkedRow("both", "company/1", "school/1"), verified, linkedRow("none"),
		linkedRow("taken", "company/taken"), linkedRow("nowhere", "school/4", "elsewhere/4"),
		linkedRow("twice", "school/5", "school/5"), linkedRow("second", "company/6", "school/1"),
		linkedRow("no-account", "school/ "), linkedRow("other-account", "company/6"),
	}
	want := map[uint64]string{4: "IDP_LINK_TAKEN", 5: "IDP_UNKNOWN", 6: "IDP_LINK_TWICE", 7: "IDP_LINK_TAKEN",
		8: "INVALID_ARGUMENT"}
	checked, err := w.Gateway.CheckImport(w.Admin, testworld.Bulk(w.OrgID, all...))
	if err != nil {
		t.Fatal(err)
	}
	// A linked user with an unverified address gets a mail to verify it. A user with neither gets
	// the initialize-user mail.
	if checked.NewUsers != 4 || checked.Mails != 3 || w.Rows("user_idp_links") != 1 {
		t.Errorf("the check says %v", checked)
	}
	for range 2 {
		ids, errs := w.Imported(w.Admin, testworld.Bulk(w.OrgID, all...))
		if !slices.Equal(ids, []string{"both", "verified", "none", "other-account"}) || len(errs) != len(want) {
			t.Errorf("imported %v", ids)
		}
		for row, reason := range want {
			if errs[row].GetReason() != reason {
				t.Errorf("row %d: %v, want %s", row, errs[row], reason)
			}
		}
		for _, e := range checked.Errors {
			if !proto.Equal(e, errs[e.Row]) {
				t.Errorf("%v, the check said %v", errs[e.Row], e)
			}
		}
		known.Org = "" // the providers were removed; their users are recognized nevertheless
		want[6], checked.Errors = "IDP_UNKNOWN", nil
	}
	for id, c := range map[string]struct {
		state usersv1.UserState
		links []string
		codes int
	}{
		"both":     {usersv1.UserState_USER_STATE_ACTIVE, []string{"company/1", "school/1"}, 1},
		"verified": {usersv1.UserState_USER_STATE_ACTIVE, []string{"company/2"}, 0},
		"none":     {usersv1.UserState_USER_STATE_INITIAL, nil, 1},
	} {
		if state := w.State(id); state != c.state {
			t.Errorf("%s: %v", id, state)
		}
		if links := w.Links(w.Admin, id); !slices.Equal(links, c.links) {
			t.Errorf("%s is linked to %v", id, links)
		}
		if n := w.Rows("codes where user_id = $1", id); n != c.codes {
			t.Errorf("%s has %d codes", id, n)
		}
	}
	if n := w.Rows("user_idp_links"); n != 5 {
		t.Errorf("%d links", n)
	}
	other := linkedRow("both", "company/1")
	if _, errs := w.Imported(w.Admin, testworld.Bulk(w.OrgID, other)); errs[1].GetReason() != "IMPORT_DIFFERS" {
		t.Errorf("with other links: %v", errs)
	}
}

// The bulk import and the single import write the same for a row with links.
func TestImportUsersLinkedAsOneByOne(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	one := testworld.Linked("one", "company/1", "school/1")
	one.UserId, one.Idps[0].TenantId = "one", "contoso"
	w.Must(w.Gateway.ImportHumanUser(w.Admin, one))
	other := linkedRow("other", "company/2", "school/2")
	other.User.Idps[0].TenantId = "contoso"
	for i, l := range other.User.Idps {
		l.DisplayName = one.Idps[i].DisplayName
	}
	if ids, errs := w.Imported(w.Admin, testworld.Bulk(w.OrgID, linkedRow("around"), other)); len(ids) != 2 {
		t.Fatal(errs)
	}
	alike(w, "one", "other")
	if n := w.Rows(`user_idp_links a join user_idp_links b using (idp_id, tenant_id, display_name)
		where a.user_id = 'one' and b.user_id = 'other' and a.tenant_id = (case a.idp_id when 'company' then 'contoso'
			else 'school.example' end)`); n != 2 {
		t.Errorf("%d links are alike", n)
	}
}

// If two batches at once have the same account, it is linked to one user.
func TestImportUsersLinkedAtOnce(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	answers := make(chan *usersv1.ImportResponse, 2)
	for _, id := range []string{"a", "b"} {
		go func() {
			got, err := w.Gateway.ImportUsers(w.Admin,
				testworld.Bulk(w.OrgID, row("beside-"+id), linkedRow(id, "company/1")))
			if err != nil {
				t.Error(err)
			}
			answers <- got
		}()
	}
	refused, done := 0, 0
	for range 2 {
		got := <-answers
		for _, e := range got.GetErrors() {
			if refused++; e.Reason != "IDP_LINK_TAKEN" || e.Row != 2 {
				t.Errorf("%v", e)
			}
		}
		for _, o := range got.GetSuccess().GetOrgs() {
			done += len(o.HumanUserIds)
		}
	}
	if refused != 1 || done != 3 || w.Rows("user_idp_links") != 1 {
		t.Errorf("%d refused, %d imported, %d links", refused, done, w.Rows("user_idp_links"))
	}
}
