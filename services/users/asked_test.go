package users_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// asked returns the kinds and the ids of the mails that were requested in the last minutes, newest
// first.
func (w *world) asked(orgID, userID string) (kinds, ids []string) {
	w.Helper()
	r, err := w.notify.ListAskedMails(w.Context(), &usersv1.ListAskedMailsRequest{OrgId: orgID, UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	for _, m := range r.Result {
		kinds, ids = append(kinds, m.Kind), append(ids, m.NotificationId)
		event := strings.TrimSuffix(m.NotificationId, "-notice")
		if n := w.rows("events where id = $1 and aggregate_id = $2 and time = $3", event, userID,
			m.Time.AsTime()); n != 1 {
			w.Errorf("%d events %v", n, m)
		}
	}
	return kinds, ids
}

// ListAskedMails lists the mail of every call that returns a notification's id, and no other.
func TestAskedMails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	imported, err := w.gateway.ImportHumanUser(w.admin, minimal("mini"))
	if err != nil {
		t.Fatal(err)
	}
	id := imported.UserId
	kinds, want := w.asked(w.orgID, id)
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
		kinds, ids := w.asked(w.orgID, id)
		for i, of := range slices.Backward(ids) { // TestNotices is about these
			if strings.HasSuffix(of, "-notice") {
				kinds, ids = slices.Delete(kinds, i, i+1), slices.Delete(ids, i, i+1)
			}
		}
		if !slices.Equal(ids, want) || notification != "" && kinds[0] != kind {
			t.Errorf("after %s: %v %v, want %v", what, kinds, ids, want)
		}
	}
	again, err := w.gateway.ResendInitialization(w.admin, &usersv1.ResendInitializationRequest{UserId: id})
	expect("the first mail once more", "init", again.GetNotificationId(), err)
	moved, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{UserId: id, Email: "new@example.com"})
	expect("another address of one who waits", "init", moved.GetNotificationId(), err)
	_, err = w.complete(id, w.mail(id).Code, "correct horse")
	expect("the code was typed", "", "", err)
	reset, err := w.gateway.RequestPasswordReset(w.admin, &usersv1.RequestPasswordResetRequest{UserId: id})
	expect("a forgotten password", "passwordreset", reset.GetNotificationId(), err)
	moved, err = w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{UserId: id, Email: "newer@example.com"})
	expect("another address", "verifyemail", moved.GetNotificationId(), err)
	verify, err := w.gateway.ResendEmailVerification(w.admin, &usersv1.ResendEmailVerificationRequest{UserId: id})
	expect("its mail once more", "verifyemail", verify.GetNotificationId(), err)
	silent, err := w.gateway.UpdateEmail(w.admin, &usersv1.UpdateEmailRequest{
		UserId: id, Email: "newer@example.com", IsEmailVerified: true,
	})
	if silent.GetNotificationId() != "" {
		t.Error("a verified address is sent a mail")
	}
	expect("an address that is verified", "", "", err)
	_, err = w.gateway.AddOrgMember(w.admin, &usersv1.AddMemberRequest{UserId: id, Roles: []string{"ORG_OWNER_VIEWER"}})
	expect("a role", "", "", err)

	active := w.person(w.admin, "active")
	if kinds, _ := w.asked(w.orgID, active); len(kinds) != 0 {
		t.Errorf("of one who needs none: %v", kinds)
	}
	created, err := w.gateway.CreateHumanUser(w.admin, &usersv1.CreateHumanUserRequest{
		UserName: "made", Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse"},
		Email: &usersv1.Email{Email: "made@example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if kinds, _ := w.asked(w.orgID, created.UserId); !slices.Equal(kinds, []string{"init"}) {
		t.Errorf("of one who was created: %v", kinds)
	}

	other, _ := w.org("Acme")
	for _, r := range []*usersv1.ListAskedMailsRequest{{OrgId: other, UserId: id}, {OrgId: w.orgID, UserId: "nobody"},
		{UserId: id}, {OrgId: w.orgID}, {}} {
		_, err := w.notify.ListAskedMails(t.Context(), r)
		refused(t, err, "USER_NOT_FOUND")
	}
}

// ListAskedMails lists no mail that was requested long ago, and of very many only the newest.
func TestAskedMailsAreBounded(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	w := startWorld(t, g)
	id := w.initial("mini")
	ahead.Add(int64(4 * time.Minute))
	if kinds, _ := w.asked(w.orgID, id); len(kinds) != 1 {
		t.Errorf("after 4 minutes: %v", kinds)
	}
	ahead.Add(int64(90 * time.Second))
	if kinds, _ := w.asked(w.orgID, id); len(kinds) != 0 {
		t.Errorf("after 5 minutes: %v", kinds)
	}
	if _, err := w.service.DB.Exec(t.Context(),
		`insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
		select 'many' || i, 'human', $1, $1, 'password_reset_requested', $2, 'auth', '{"mail":"passwordreset"}', $3
		from generate_series(1, 300) i`, id, w.orgID, g.Now()); err != nil {
		t.Fatal(err)
	}
	if _, ids := w.asked(w.orgID, id); len(ids) != 100 || ids[0] != "many300" || ids[99] != fmt.Sprint("many", 201) {
		t.Errorf("%d of many: %v", len(ids), ids)
	}
}
