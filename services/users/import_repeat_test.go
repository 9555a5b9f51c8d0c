package users_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// A repeated import tells nobody a right password from a wrong one, if the user may more than the caller: it is refused
// as for any taken id, over each path. For others it is compared as before.
func TestRepeatsOfUsersAboveTheCallerAreNotCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.person(w.admin, "owner")
	w.addMember(w.admin, owner, "ORG_OWNER")
	asOwner := w.login(w.admin, owner, "")
	data := func(id, password string) *usersv1.HumanUserData {
		d := wrapped(minimal(id)).User
		d.Email.IsEmailVerified, d.Password = true, password
		return d
	}
	for _, id := range []string{"boss", "equal", "elsewhere"} {
		if _, err := w.gateway.ImportHumanUser(w.admin, &usersv1.ImportHumanUserRequest{
			UserId: id, User: data(id, "correct horse"),
		}); err != nil {
			t.Fatal(err)
		}
	}
	_, inB := w.org("B")
	w.addIamMember("boss", "IAM_USER_MANAGER")
	w.addMember(w.admin, "equal", "ORG_OWNER")
	w.addMember(inB, "elsewhere", "ORG_OWNER")

	for id, want := range map[string][2]string{
		"boss":      {"USER_ID_TAKEN", "USER_ID_TAKEN"},
		"equal":     {"", "IMPORT_DIFFERS"},
		"elsewhere": {"", "IMPORT_DIFFERS"},
	} {
		for i, password := range []string{"correct horse", "wrong horses"} {
			_, err := w.gateway.ImportHumanUser(asOwner, &usersv1.ImportHumanUserRequest{
				UserId: id, User: data(id, password),
			})
			if got := fault.From(err); err == nil && want[i] != "" || err != nil && got.ID != want[i] {
				t.Errorf("%s with %q alone: %v", id, password, err)
			}
			request := bulk(w.orgID, &usersv1.ImportHumanUserRow{UserId: id, User: data(id, password)})
			ids, errs := w.imported(asOwner, proto.CloneOf(request))
			if errs[1].GetReason() != want[i] || (len(ids) == 1) != (want[i] == "") {
				t.Errorf("%s with %q in bulk: %v, %v", id, password, ids, errs)
			}
			check, err := w.gateway.CheckImport(asOwner, request)
			if err != nil || (check.KnownUsers == 1) != (want[i] == "") ||
				len(check.Errors) > 0 && check.Errors[0].Reason != want[i] {
				t.Errorf("%s with %q, only checked: %v, %v", id, password, check, err)
			}
		}
	}
	if _, err := w.gateway.ImportHumanUser(w.admin, &usersv1.ImportHumanUserRequest{
		UserId: "boss", User: data("boss", "correct horse"),
	}); err != nil {
		t.Errorf("who may act on the user: %v", err)
	}
}
