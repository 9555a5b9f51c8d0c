package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// row returns a row of a bulk import: an active user with a password hash.
func row(id string) *usersv1.ImportHumanUserRow {
	r := testworld.Minimal(id)
	r.Email.IsEmailVerified, r.HashedPassword = true, testworld.Hashed(testworld.SomeHash)
	return &usersv1.ImportHumanUserRow{UserId: id, User: testworld.Wrapped(r).User}
}

func rows(ids ...string) (all []*usersv1.ImportHumanUserRow) {
	for _, id := range ids {
		all = append(all, row(id))
	}
	return all
}

// The bulk import and the single import write the same.
func TestImportUsersAsOneByOne(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	whole := &usersv1.HumanUserData{
		UserName: "  Mini ", Profile: &usersv1.Profile{FirstName: " Mini", LastName: "Mouse ", NickName: "Mimi",
			PreferredLanguage: "de_CH", Gender: usersv1.Gender_GENDER_FEMALE},
		Email: &usersv1.Email{Email: " mini@example.com "}, Phone: &usersv1.Phone{
			Phone: "+41791234567", IsPhoneVerified: true,
		},
		HashedPassword: testworld.Hashed(testworld.SomeHash), PasswordChangeRequired: true,
		OtpCode:  "jbsw y3dp ehpk 3pxp jbsw y3dp",
		Metadata: []*usersv1.Metadata{{Key: "shoe", Value: []byte{0, 255}}, {Key: "hat"}},
	}
	plain := testworld.Wrapped(testworld.Minimal("plain")).User
	plain.Password, plain.Email.IsEmailVerified = "correct horse", true
	for name, data := range map[string]*usersv1.HumanUserData{
		"whole": whole, "bare": testworld.Wrapped(testworld.Minimal("bare")).User, "plain": plain,
		"ready": row("ready").User,
	} {
		w.SignIn()
		one, other := proto.CloneOf(data), proto.CloneOf(data)
		other.UserName += "2"
		w.Must(w.Gateway.ImportHumanUser(w.Admin, &usersv1.ImportHumanUserRequest{
			UserId: name + "-1", User: one,
		}))
		ids, errs := w.Imported(w.Admin, testworld.Bulk(w.OrgID,
			&usersv1.ImportHumanUserRow{UserId: name + "-2", User: other}))
		if len(errs) > 0 || !slices.Equal(ids, []string{name + "-2"}) {
			t.Fatalf("%s: %v %v", name, ids, errs)
		}
		alike(w, name+"-1", name+"-2")
	}
}

// alike fails the test if two users differ in more than ids, names, times and secrets.
func alike(w *testworld.World, one, other string) {
	w.Helper()
	own := `- '{id,user_id,user_name,user_name_folded,sequence,created_at,changed_at,import_digest,position,time,
		aggregate_id,history_id,secret,nonce,mac,made_at,notification_id,password_hash}'::text[]`
	for _, table := range []string{
		"users x where id", "events x where aggregate_id", "codes x where user_id", "otp_factors x where user_id",
		"user_metadata x where user_id",
	} {
		var rows [2]string
		for i, id := range []string{one, other} {
			w.Must(nil, w.Service.DB.QueryRow(w.Context(), `select coalesce(string_agg(r, '; ' order by r), '')
				from (select (to_jsonb(x) `+own+`)::text as r from `+table+` = $1) t`, id).Scan(&rows[i]))
		}
		if rows[0] != rows[1] {
			w.Errorf("%s: %s and %s", table, rows[0], rows[1])
		}
	}
	if n := w.Rows(`users a join users b on (a.password_hash = '') = (b.password_hash = '')
		and (select array_agg(k order by k) from jsonb_object_keys(a.import_digest) k)
			= (select array_agg(k order by k) from jsonb_object_keys(b.import_digest) k)
		where a.id = $1 and b.id = $2`, one, other); n != 1 {
		w.Errorf("%s and %s have other digests or hashes", one, other)
	}
	if n := w.Rows(`codes c join events e on e.id = c.notification_id where c.user_id = $1`, other); n !=
		w.Rows("codes where user_id = $1", other) {
		w.Errorf("the code of %s goes with no event", other)
	}
	if n := w.Rows("users u join events e on e.position = u.sequence and e.time = u.created_at where u.id = $1",
		other); n != 1 {
		w.Errorf("%s has not the sequence of its event", other)
	}
}

// Each kind of wrong row is refused and does not stop the others.
func TestImportUsersRefusesRows(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	w.Person(w.Admin, "taken")
	elsewhere, there := w.Org("Elsewhere")
	if ids, errs := w.Imported(there, testworld.Bulk(elsewhere, row("theirs"))); len(ids) != 1 {
		t.Fatal(errs)
	}
	all := rows("a", "bad-mail", "", "a", "name", "theirs", "b", "hash", "A", "state", "me", "long", "c", "a", "unseen")
	all[1].User.Email.Email = "nobody"
	all[2].User.UserName = "nobody"
	all[4].User.UserName = "Taken"
	all[5].User.UserName = "free"
	all[7].User.HashedPassword = testworld.Hashed("$foo$1")
	all[8].User.UserName = "a" // another id with the same login name
	all[9].State = 9
	all[11].User.Profile.FirstName = strings.Repeat("ü", 201)
	all[13].User.Profile.FirstName = "Maxi"
	all[14].User.UserName = "un\u200bseen"
	want := map[uint64]string{2: "EMAIL_INVALID", 3: "USER_ID_INVALID", 5: "USER_NAME_TAKEN", 6: "USER_ID_TAKEN",
		8: "PASSWORD_HASH_INVALID", 9: "USER_NAME_TAKEN", 10: "INVALID_ARGUMENT", 11: "USER_ID_INVALID",
		12: "INVALID_ARGUMENT", 14: "IMPORT_DIFFERS", 15: "INVALID_ARGUMENT"}
	checked, err := w.Gateway.CheckImport(w.Admin, testworld.Bulk(w.OrgID, all...))
	if err != nil {
		t.Fatal(err)
	}
	if n := w.Rows("users where id in ('a', 'b', 'c')"); n != 0 || checked.NewUsers != 3 || checked.KnownUsers != 1 {
		t.Errorf("the check wrote %d users and says %v", n, checked)
	}
	for range 2 { // the second time all users exist, and the answer is the same
		ids, errs := w.Imported(w.Admin, testworld.Bulk(w.OrgID, all...))
		if !slices.Equal(ids, []string{"a", "a", "b", "c"}) {
			t.Errorf("imported %v", ids)
		}
		for i, r := range all {
			e, refused := errs[uint64(i+1)]
			if refused != (want[uint64(i+1)] != "") || refused && (e.Reason != want[e.Row] || e.Id != r.UserId ||
				e.Type != "human_user" || e.Message == "") {
				t.Errorf("row %d: %v, want %q", i+1, e, want[uint64(i+1)])
			}
		}
		if len(checked.Errors) != len(errs) {
			t.Errorf("%d errors, the check said %d", len(errs), len(checked.Errors))
		}
		for _, e := range checked.Errors {
			if !proto.Equal(e, errs[e.Row]) {
				t.Errorf("%v, the check said %v", errs[e.Row], e)
			}
		}
	}
	if n := w.Rows("events where name = 'imported' and aggregate_id in ('a', 'b', 'c')"); n != 3 {
		t.Errorf("%d events", n)
	}
}

// Who was imported as inactive or locked gets the first mail when the user comes back, if it is needed then, and once.
func TestFirstMailWaitsForTheUserToComeBack(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	moves := w.Moves()
	const lockedState, inactiveState = usersv1.UserState_USER_STATE_LOCKED, usersv1.UserState_USER_STATE_INACTIVE
	for name, c := range map[string]struct {
		state            usersv1.UserState
		leaves, returns  string
		verified, linked bool
		meanwhile        func(id string)
		mails            []string
	}{
		"locked": {lockedState, "locked", "unlocked", false, false, nil, []string{"init"}},
		"inactive": {
			inactiveState, "deactivated", "reactivated", false, false, nil, []string{"init"},
		},
		"linked": {lockedState, "locked", "unlocked", false, true, nil, []string{"verifyemail"}},
		"ready":  {lockedState, "locked", "unlocked", true, false, nil, nil},
		"verified": {inactiveState, "deactivated", "reactivated", false, false, func(id string) {
			w.Must(w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{
				UserId: id, Email: id + "@example.com", IsEmailVerified: true,
			}))
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := row(name)
			r.State, r.User.Email.IsEmailVerified = c.state, c.verified
			if c.linked {
				r.User.Idps = []*usersv1.IdpLink{{ConfigId: "company", ExternalUserId: name}}
			}
			if _, errs := w.Imported(w.Admin, testworld.Bulk(w.OrgID, r)); len(errs) > 0 {
				t.Fatal(errs)
			}
			if kinds, _ := w.Asked(w.OrgID, name); len(kinds) != 0 {
				t.Errorf("mails to a user who is %s: %v", c.state, kinds)
			}
			if c.meanwhile != nil {
				c.meanwhile(name)
			}
			w.Must(moves[c.returns](w.Admin, name))
			kinds, ids := w.Asked(w.OrgID, name)
			if kinds = slices.DeleteFunc(kinds, func(kind string) bool {
				return kind == "emailchanged"
			}); !slices.Equal(kinds, c.mails) {
				t.Fatalf("mails %v, want %v", kinds, c.mails)
			}
			for _, id := range ids {
				m, err := w.Notify.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{
					UserId: name, NotificationId: id,
				})
				if len(c.mails) > 0 && (err != nil || m.Code == "") {
					t.Errorf("the mail is %v, %v", m, err)
				}
			}
			w.Must(moves[c.leaves](w.Admin, name))
			w.Must(moves[c.returns](w.Admin, name))
			if again, _ := w.Asked(w.OrgID, name); len(again) != len(ids) {
				t.Errorf("mails %v after the second return", again)
			}
		})
	}
}

func TestImportUsersDecidesStateAndMail(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	active, inactive, locked := row("active"), row("inactive"), row("locked")
	active.State, inactive.State, locked.State = usersv1.UserState_USER_STATE_INITIAL,
		usersv1.UserState_USER_STATE_INACTIVE, usersv1.UserState_USER_STATE_LOCKED
	locked.User.Email.IsEmailVerified = false // waits for the mail after an unlock
	unverified, bare := row("unverified"), row("bare")
	unverified.User.Email.IsEmailVerified, unverified.State = false, usersv1.UserState_USER_STATE_ACTIVE
	bare.User.HashedPassword = nil
	r := testworld.Bulk(w.OrgID, active, inactive, locked, unverified, bare)
	checked, err := w.Gateway.CheckImport(w.Admin, r)
	if err != nil || checked.Mails != 2 || checked.NewUsers != 5 {
		t.Errorf("the check says %v, %v", checked, err)
	}
	if got := checked.HashFormats; len(got) != 1 || got[0].Format != "pbkdf2-sha256" || got[0].Accepted != 4 {
		t.Errorf("the check says %v", got)
	}
	if _, errs := w.Imported(w.Admin, r); len(errs) > 0 {
		t.Fatal(errs)
	}
	for id, state := range map[string]usersv1.UserState{
		"active": usersv1.UserState_USER_STATE_ACTIVE, "inactive": inactive.State, "locked": locked.State,
		"unverified": usersv1.UserState_USER_STATE_INITIAL, "bare": usersv1.UserState_USER_STATE_INITIAL,
	} {
		if got := w.State(id); got != state {
			t.Errorf("%s: %v", id, got)
		}
	}
	w.Must(w.Gateway.ReactivateUser(w.Admin, &usersv1.ReactivateUserRequest{UserId: "inactive"}))
	w.Must(w.Gateway.UnlockUser(w.Admin, &usersv1.UnlockUserRequest{UserId: "locked"}))
	for id, state := range map[string]usersv1.UserState{
		"inactive": usersv1.UserState_USER_STATE_ACTIVE, "locked": usersv1.UserState_USER_STATE_INITIAL,
	} {
		if got := w.State(id); got != state {
			t.Errorf("%s is %v again", id, got)
		}
	}
	for _, id := range []string{"unverified", "bare", "locked"} {
		if m := w.Mail(id); m.Code == "" {
			t.Errorf("%s has no code to be mailed", id)
		}
	}
	if n := w.Rows("codes"); n != 3 {
		t.Errorf("%d codes", n)
	}
	if checked, err := w.Gateway.CheckImport(w.Admin, r); err != nil || checked.KnownUsers != 5 || checked.Mails != 0 {
		t.Errorf("the check of a repeat says %v, %v", checked, err)
	}
}

// An import creates a missing organization once, if the caller may. Else its users are refused.
func TestImportUsersMakesOrganizations(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Bulk("acme", row("a"), row("b"))
	_, errs := w.Imported(w.Admin, r)
	if errs[1].GetReason() != "ORG_NOT_FOUND" || errs[2].GetReason() != "ORG_NOT_FOUND" {
		t.Errorf("without a name: %v", errs)
	}
	r.DataOrgs.Orgs[0].Org = &usersv1.ImportedOrgData{Name: " Acme "}
	if got, err := w.Gateway.CheckImport(w.Admin, r); err != nil || got.NewUsers != 2 || w.Rows(
		"organizations where id = 'acme'") != 0 {
		t.Errorf("the check says %v, %v", got, err)
	}
	for range 2 {
		if ids, errs := w.Imported(w.Admin, r); len(ids) != 2 || len(errs) > 0 {
			t.Errorf("%v %v", ids, errs)
		}
	}
	if n := w.Rows("organizations where id = 'acme' and name = 'Acme' and primary_domain like 'acme.%'"); n != 1 {
		t.Errorf("%d organizations", n)
	}
	r.DataOrgs.Orgs[0].Org.Name = "Other"
	if ids, errs := w.Imported(w.Admin, r); len(ids) != 2 || errs[0].GetReason() != "IMPORT_ORG_DIFFERS" {
		t.Errorf("%v %v", ids, errs)
	}
	second := testworld.Bulk("short", row("c"))
	second.DataOrgs.Orgs[0].Org = &usersv1.ImportedOrgData{Name: "acme"}
	if ids, errs := w.Imported(w.Admin, second); len(ids) != 0 || errs[0].GetReason() != "ORG_NAME_TAKEN" ||
		errs[1].GetReason() != "ORG_NOT_FOUND" {
		t.Errorf("%v %v", ids, errs)
	}
	second.DataOrgs.Orgs[0].Org.Name = "acme!" // the same slug
	if ids, errs := w.Imported(w.Admin, second); len(ids) != 1 || len(errs) > 0 {
		t.Errorf("%v %v", ids, errs)
	}
}

// The permission is needed in every organization of the request. Without it nothing is written.
func TestImportUsersNeedsPermissionEverywhere(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	mine, _ := w.Org("Mine")
	theirs, _ := w.Org("Theirs")
	owner := w.Person(w.Admin, "owner")
	c, err := w.Resolve(w.AdminToken, mine)
	if err != nil {
		t.Fatal(err)
	}
	w.Must(w.Gateway.AddOrgMember(w.As(c), &usersv1.AddMemberRequest{
		UserId: owner, Roles: []string{"ORG_OWNER"},
	}))
	as := w.Login(w.Admin, owner, mine)
	both := testworld.Bulk(mine, row("a"))
	both.DataOrgs.Orgs = append(both.DataOrgs.Orgs, testworld.Bulk(theirs, row("b")).DataOrgs.Orgs...)
	unmade := testworld.Bulk("unmade", row("c"))
	unmade.DataOrgs.Orgs[0].Org = &usersv1.ImportedOrgData{Name: "Unmade"}
	for _, r := range []*usersv1.ImportRequest{both, testworld.Bulk(theirs, row("b")), unmade} {
		_, err := w.Gateway.ImportUsers(as, r)
		testkit.Refused(t, err, "PERMISSION_DENIED", "user.import")
		_, err = w.Gateway.CheckImport(as, r)
		testkit.Refused(t, err, "PERMISSION_DENIED", "user.import")
	}
	if n := w.Rows("users where id in ('a', 'b', 'c')"); n != 0 {
		t.Errorf("%d users were written", n)
	}
	own := testworld.Bulk(mine, row("a"))
	own.DataOrgs.Orgs[0].Org = &usersv1.ImportedOrgData{Name: "Mine"}
	if ids, errs := w.Imported(as, own); len(ids) != 1 || len(errs) > 0 {
		t.Errorf("%v %v", ids, errs)
	}
}

// Of equal batches at once each has the same answer, and each user is written once.
func TestImportUsersAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	var ids []string
	for i := range 200 {
		ids = append(ids, fmt.Sprintf("u-%d", i))
	}
	done := make(chan error)
	for i := range 4 {
		go func() {
			all := rows(ids...)
			if i%2 == 1 {
				slices.Reverse(all)
			}
			got, err := w.Gateway.ImportUsers(w.Admin, testworld.Bulk(w.OrgID, all...))
			if err == nil && (len(got.Errors) > 0 || len(got.Success.Orgs[0].HumanUserIds) != len(ids)) {
				err = fmt.Errorf("%v", got)
			}
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := w.Rows("events where name = 'imported' and aggregate_id like 'u-%'"); n != len(ids) {
		t.Errorf("%d events", n)
	}
}

func TestImportUsersBringsMachines(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	machine := func(id, name string) *usersv1.ImportMachineUserRow {
		return &usersv1.ImportMachineUserRow{UserId: id, User: &usersv1.CreateMachineUserRequest{
			UserName: id, Name: name, Description: "builds",
		}}
	}
	r := testworld.Bulk(w.OrgID, row("a"), row("m-taken"))
	r.DataOrgs.Orgs[0].MachineUsers = []*usersv1.ImportMachineUserRow{
		machine("m1", "One"), machine("m2", ""), machine("a", "A"), machine("m1", "One"), machine("m3", "Three"),
	}
	for range 2 {
		got, err := w.Gateway.ImportUsers(w.Admin, r)
		if err != nil {
			t.Fatal(err)
		}
		if o := got.Success.Orgs[0]; !slices.Equal(o.HumanUserIds, []string{"a", "m-taken"}) ||
			!slices.Equal(o.MachineUserIds, []string{"m1", "m1", "m3"}) {
			t.Errorf("%v", got)
		}
		if e := got.Errors; len(e) != 2 || e[0].Row != 4 || e[0].Type != "machine_user" || e[0].Id != "m2" ||
			e[0].Reason != "INVALID_ARGUMENT" || e[1].Row != 5 || e[1].Reason != "IMPORT_DIFFERS" {
			t.Errorf("%v", e)
		}
	}
	made, err := w.Gateway.CreateMachineUser(w.Admin, &usersv1.CreateMachineUserRequest{
		UserName: "m4", Name: "One", Description: "builds",
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Service.DB.Exec(t.Context(), "update users set import_digest = (select import_digest from users "+
		"where id = 'm1') where id = $1", made.UserId); err != nil { // only imports have a digest
		t.Fatal(err)
	}
	alike(w, made.UserId, "m1")
	r = testworld.Bulk(w.OrgID, row("x"))
	r.DataOrgs.Orgs[0].HumanUsers[0].UserId = "m1"
	if _, errs := w.Imported(w.Admin, r); errs[1].GetReason() != "IMPORT_DIFFERS" {
		t.Errorf("%v", errs)
	}
	one := testworld.Minimal("y")
	one.UserId = "m1"
	_, err = w.Gateway.ImportHumanUser(w.Admin, one)
	testkit.Refused(t, err, "USER_ID_TAKEN")
}

// Rows with ids of removed users are refused. The other rows are imported.
func TestImportUsersAfterRemoval(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	if _, errs := w.Imported(w.Admin, testworld.Bulk(w.OrgID, rows("a", "b", "c")...)); len(errs) > 0 {
		t.Fatal(errs)
	}
	w.Must(w.Gateway.RemoveUser(w.Admin, &usersv1.RemoveUserRequest{UserId: "b"}))
	r := testworld.Bulk(w.OrgID, rows("a", "b", "d", "e")...)
	checked, err := w.Gateway.CheckImport(w.Admin, r)
	if err != nil || checked.NewUsers != 2 || checked.KnownUsers != 1 || len(checked.Errors) != 1 {
		t.Errorf("the check says %v, %v", checked, err)
	}
	ids, errs := w.Imported(w.Admin, r)
	if !slices.Equal(ids, []string{"a", "d", "e"}) || errs[2].GetReason() != "USER_ID_TAKEN" || len(errs) != 1 {
		t.Errorf("%v %v", ids, errs)
	}
}

// Users, projects, applications and clients have one namespace. An id that is taken there is taken.
func TestIdsOfProjectsAreTaken(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	for _, id := range []string{"shop", "till"} {
		r := testworld.Minimal("one-" + id)
		r.UserId = id
		_, err := w.Gateway.ImportHumanUser(w.Admin, r)
		testkit.Refused(t, err, "USER_ID_TAKEN")
		bulk := testworld.Bulk(w.OrgID, row(id), row("free-"+id))
		bulk.DataOrgs.Orgs[0].MachineUsers = []*usersv1.ImportMachineUserRow{{UserId: id,
			User: &usersv1.CreateMachineUserRequest{UserName: "m-" + id, Name: "M"}}}
		checked, err := w.Gateway.CheckImport(w.Admin, bulk)
		if err != nil || len(checked.Errors) != 2 || checked.NewUsers != 1 {
			t.Errorf("checked: %v, %v", checked, err)
		}
		ids, errs := w.Imported(w.Admin, bulk)
		if !slices.Equal(ids, []string{"free-" + id}) || len(errs) != 2 {
			t.Errorf("imported %v, %v", ids, errs)
		}
	}
}
