package imports_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// A repeated import of a user with more permissions than the caller is refused like any taken id, on each path, so that
// the caller cannot test passwords. The import of another user is compared with the first one.
func TestRepeatsOfUsersAboveTheCallerAreNotCompared(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	owner := w.Person(w.Admin, "owner")
	w.AddMember(w.Admin, owner, "ORG_OWNER")
	asOwner := w.Login(w.Admin, owner, "")
	data := func(id, password string) *usersv1.HumanUserData {
		d := testworld.Wrapped(testworld.Minimal(id)).User
		d.Email.IsEmailVerified, d.Password = true, password
		return d
	}
	for _, id := range []string{"boss", "equal", "elsewhere"} {
		w.Must(w.Gateway.ImportHumanUser(w.Admin, &usersv1.ImportHumanUserRequest{
			UserId: id, User: data(id, "correct horse"),
		}))
	}
	_, inB := w.Org("B")
	w.AddIamMember("boss", "IAM_USER_MANAGER")
	w.AddMember(w.Admin, "equal", "ORG_OWNER")
	w.AddMember(inB, "elsewhere", "ORG_OWNER")

	for id, want := range map[string][2]string{
		"boss":      {"USER_ID_TAKEN", "USER_ID_TAKEN"},
		"equal":     {"", "IMPORT_DIFFERS"},
		"elsewhere": {"", "IMPORT_DIFFERS"},
	} {
		for i, password := range []string{"correct horse", "wrong horses"} {
			_, err := w.Gateway.ImportHumanUser(asOwner, &usersv1.ImportHumanUserRequest{
				UserId: id, User: data(id, password),
			})
			if got := fault.From(err); err == nil && want[i] != "" || err != nil && got.ID != want[i] {
				t.Errorf("%s with %q alone: %v", id, password, err)
			}
			request := testworld.Bulk(w.OrgID, &usersv1.ImportHumanUserRow{UserId: id, User: data(id, password)})
			ids, errs := w.Imported(asOwner, proto.CloneOf(request))
			if errs[1].GetReason() != want[i] || (len(ids) == 1) != (want[i] == "") {
				t.Errorf("%s with %q in bulk: %v, %v", id, password, ids, errs)
			}
			check, err := w.Gateway.CheckImport(asOwner, request)
			if err != nil || (check.KnownUsers == 1) != (want[i] == "") ||
				len(check.Errors) > 0 && check.Errors[0].Reason != want[i] {
				t.Errorf("%s with %q, only checked: %v, %v", id, password, check, err)
			}
		}
	}
	if _, err := w.Gateway.ImportHumanUser(w.Admin, &usersv1.ImportHumanUserRequest{
		UserId: "boss", User: data("boss", "correct horse"),
	}); err != nil {
		t.Errorf("who may act on the user: %v", err)
	}
}
