package members_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

func TestProjectMembers(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	add := func(ctx context.Context, project, user string, roles ...string) error {
		_, err := w.Gateway.AddProjectMember(ctx, &usersv1.AddProjectMemberRequest{
			ProjectId: project, UserId: user, Roles: roles,
		})
		return err
	}
	ada, bob := w.Person(w.Admin, "ada"), w.Person(w.Admin, "bob")
	testkit.Refused(t, add(w.Admin, "shop", ada, "ORG_OWNER"), "ROLE_UNKNOWN")
	testkit.Refused(t, add(w.Admin, "shop", "nobody", "PROJECT_OWNER"), "USER_NOT_FOUND")
	if n := w.Rows("members where project_id <> ''"); n != 0 {
		t.Fatalf("%d members", n)
	}

	w.Must(nil, add(w.Admin, "shop", ada, "PROJECT_OWNER"))
	testkit.Refused(t, add(w.Admin, "shop", ada, "PROJECT_OWNER"), "MEMBER_EXISTS")
	owner := w.Login(w.Admin, ada, "") // an owner of this project only
	if err := add(owner, "shop", bob, "PROJECT_OWNER_VIEWER"); err != nil {
		t.Fatal(err)
	}
	viewer := w.Login(w.Admin, bob, "")
	testkit.Refused(t, add(viewer, "shop", w.AdminID, "PROJECT_OWNER_VIEWER"), "PERMISSION_DENIED")

	list, err := w.Gateway.SearchProjectMembers(viewer, &usersv1.SearchProjectMembersRequest{ProjectId: "shop"})
	if err != nil || len(list.Result) != 2 || list.Result[0].UserId != bob ||
		list.Result[1].Roles[0] != "PROJECT_OWNER" {
		t.Errorf("%v, %v", list, err)
	}
	_, err = w.Gateway.SearchProjectMembers(w.Admin, &usersv1.SearchProjectMembersRequest{ProjectId: "nothing"})
	testkit.Refused(t, err, "PROJECT_NOT_FOUND")
	if orgs, err := w.Gateway.SearchOrgMembers(w.Admin, &usersv1.SearchMembersRequest{}); err != nil ||
		orgs.Details.TotalResult != 0 {
		t.Errorf("members of the organization: %v, %v", orgs, err)
	}

	changed, err := w.Gateway.UpdateProjectMember(owner, &usersv1.UpdateProjectMemberRequest{
		ProjectId: "shop", UserId: bob, Roles: []string{"PROJECT_OWNER"},
	})
	if err != nil || changed.Details.Sequence <= list.Result[0].Details.Sequence {
		t.Errorf("%v, %v", changed, err)
	}
	w.Must(w.Gateway.RemoveProjectMember(owner, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop",
		UserId: bob}))
	_, err = w.Gateway.RemoveProjectMember(owner, &usersv1.RemoveProjectMemberRequest{ProjectId: "shop", UserId: bob})
	testkit.Refused(t, err, "MEMBER_NOT_FOUND")
	testkit.Refused(t, add(w.Login(w.Admin, bob, ""), "shop", w.AdminID, "PROJECT_OWNER"), "PERMISSION_DENIED")
}

// A role on a project ends what somebody without its permissions made for the user. Who may not end credentials gives
// no such role: otherwise whoever creates a project could lock people out of their own organization.
func TestOwnersOfProjectsEndNothing(t *testing.T) {
	t.Parallel()
	for what, plant := range map[string]string{
		"nothing":   `select $1::text`,
		"password":  `update users set password_makers = '{gone}' where id = $1`,
		"address":   `update users set email_makers = '{gone}' where id = $1`,
		"token":     `update personal_access_tokens set makers = '{gone}' where user_id = $1`,
		"code":      `update codes set makers = '{gone}' where user_id = $1`,
		"own token": `update personal_access_tokens set makers = array[user_id] where user_id = $1`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			w := testworld.New(t)
			add := &usersv1.AddProjectMemberRequest{ProjectId: "shop", Roles: []string{"PROJECT_OWNER_VIEWER"}}
			creator := w.Person(w.Admin, "creator")
			add.UserId = w.Somebody("mini", "mini@example.com", "correct horse")
			w.PAT(w.Admin, add.UserId)
			w.Request("passwordreset", add.UserId)
			w.Must(w.Service.DB.Exec(t.Context(), `update codes set makers = array[user_id]`))
			w.Must(w.Gateway.AddProjectMember(w.Admin, &usersv1.AddProjectMemberRequest{
				ProjectId: "shop", UserId: creator, Roles: []string{"PROJECT_OWNER"},
			}))
			w.Must(w.Service.DB.Exec(t.Context(), plant, add.UserId))
			asCreator := w.Login(w.Admin, creator, "")
			if what == "nothing" || what == "own token" {
				w.Must(w.Gateway.AddProjectMember(asCreator, add))
				return
			}
			w.Unwritten(func() {
				_, err := w.Gateway.AddProjectMember(asCreator, add)
				testkit.Refused(t, err, "ESCALATION", "user.credential.write")
			})
			w.Must(w.Gateway.AddProjectMember(w.Admin, add))
			if n := w.Rows(`users u where id = $1 and password_hash <> '' and not email_outranked
				and exists (select from personal_access_tokens where user_id = u.id)
				and exists (select from codes where user_id = u.id)`, add.UserId); n != 0 {
				t.Error("nothing has ended")
			}
		})
	}
}
