package internals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// ListAskedMails lists the mail of every call that returns a notification's id, and no other.
func TestAskedMails(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	imported := w.Import(w.Admin, testworld.Minimal("mini"))
	id := imported.UserId
	kinds, want := w.Asked(w.OrgID, id)
	if !slices.Equal(kinds, []string{"init"}) {
		t.Fatalf("after the import: %v", kinds)
	}
	expect := func(what, kind, notification string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if notification != "" {
			want = append([]string{notification}, want...)
		}
		kinds, ids := w.Asked(w.OrgID, id)
		for i, of := range slices.Backward(ids) { // TestNotices is about these
			if strings.HasSuffix(of, "-notice") {
				kinds, ids = slices.Delete(kinds, i, i+1), slices.Delete(ids, i, i+1)
			}
		}
		if !slices.Equal(ids, want) || notification != "" && kinds[0] != kind {
			t.Errorf("after %s: %v %v, want %v", what, kinds, ids, want)
		}
	}
	again, err := w.Gateway.ResendInitialization(w.Admin, &usersv1.ResendInitializationRequest{UserId: id})
	expect("the first mail once more", "init", again.GetNotificationId(), err)
	moved, err := w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{UserId: id, Email: "new@example.com"})
	expect("another address of one who waits", "init", moved.GetNotificationId(), err)
	_, err = w.Complete(id, w.Mail(id).Code, "correct horse")
	expect("the code was typed", "", "", err)
	reset, err := w.Gateway.RequestPasswordReset(w.Admin, &usersv1.RequestPasswordResetRequest{UserId: id})
	expect("a forgotten password", "passwordreset", reset.GetNotificationId(), err)
	moved, err = w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{UserId: id, Email: "newer@example.com"})
	expect("another address", "verifyemail", moved.GetNotificationId(), err)
	verify, err := w.Gateway.ResendEmailVerification(w.Admin, &usersv1.ResendEmailVerificationRequest{UserId: id})
	expect("its mail once more", "verifyemail", verify.GetNotificationId(), err)
	silent, err := w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{
		UserId: id, Email: "newer@example.com", IsEmailVerified: true,
	})
	if silent.GetNotificationId() != "" {
		t.Error("a verified address is sent a mail")
	}
	expect("an address that is verified", "", "", err)
	_, err = w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"ORG_OWNER_VIEWER"}})
	expect("a role", "", "", err)

	active := w.Person(w.Admin, "active")
	if kinds, _ := w.Asked(w.OrgID, active); len(kinds) != 0 {
		t.Errorf("of one who needs none: %v", kinds)
	}
	created, err := w.Gateway.CreateHumanUser(w.Admin, &usersv1.CreateHumanUserRequest{
		UserName: "made", Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse"},
		Email: &usersv1.Email{Email: "made@example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if kinds, _ := w.Asked(w.OrgID, created.UserId); !slices.Equal(kinds, []string{"init"}) {
		t.Errorf("of one who was created: %v", kinds)
	}

	other, _ := w.Org("Acme")
	for _, r := range []*usersv1.ListAskedMailsRequest{{OrgId: other, UserId: id}, {OrgId: w.OrgID, UserId: "nobody"},
		{UserId: id}, {OrgId: w.OrgID}, {}} {
		_, err := w.Notify.ListAskedMails(t.Context(), r)
		testkit.Refused(t, err, "USER_NOT_FOUND")
	}
}

// ListAskedMails lists no mail that was requested long ago, and of very many only the newest.
func TestAskedMailsAreBounded(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Initial("mini")
	w.Advance(4 * time.Minute)
	if kinds, _ := w.Asked(w.OrgID, id); len(kinds) != 1 {
		t.Errorf("after 4 minutes: %v", kinds)
	}
	w.Advance(90 * time.Second)
	if kinds, _ := w.Asked(w.OrgID, id); len(kinds) != 0 {
		t.Errorf("after 5 minutes: %v", kinds)
	}
	w.Must(w.Service.DB.Exec(t.Context(),
		`insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select 'many' || i, 'human', $1, $1, 'password_reset_requested', $2, 'auth', '{"mail":"passwordreset"}', $3
		from generate_series(1, 300) i`, id, w.OrgID, w.Ground.Now()))
	if _, ids := w.Asked(w.OrgID, id); len(ids) != 100 || ids[0] != "many300" || ids[99] != fmt.Sprint("many", 201) {
		t.Errorf("%d of many: %v", len(ids), ids)
	}
}
