package internals_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/services/users/internal/testworld"
	"herald/shared/caller"
	"herald/shared/expiration"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// A certificate that a gateway notes is listed for the owners of the instance, is announced once however often it
// is noted, and is forgotten when no gateway notes it any more.
func TestCertificateIsListedWhileGatewaysNoteIt(t *testing.T) {
	t.Parallel()
	w, _ := testworld.NewLinkedWorld(t)
	list := usersv1.NewExpirationsClient(testkit.Calls(t, w.Ground, "gateway"))
	id, ends := strings.Repeat("0f", 32), w.Now().Add(31*24*time.Hour)
	note := func() {
		w.Must(w.Gateway.NoteCertificate(t.Context(), &usersv1.NoteCertificateRequest{
			Id: id, Name: "id.example.com", ExpirationDate: timestamppb.New(ends),
		}))
	}
	listed := func(want int) {
		t.Helper()
		all, err := list.ListInstanceExpirations(w.Admin, &usersv1.ListExpirationsRequest{Within: "40d"})
		if err != nil {
			t.Fatal(err)
		}
		own, err := list.ListExpirations(w.Admin, &usersv1.ListExpirationsRequest{Within: "40d"})
		if err != nil {
			t.Fatal(err)
		}
		if len(own.Result) != 0 || len(all.Result) != want {
			t.Errorf("%v, and of an organization %v, want %d", all.Result, own.Result, want)
		}
		for _, e := range all.Result {
			if e.Kind != heraldv1.ExpirationKind_EXPIRATION_KIND_CERTIFICATE || e.Id != id ||
				e.Name != "id.example.com" || e.OrganizationId != "" ||
				!e.ExpirationDate.AsTime().Equal(ends.Truncate(time.Microsecond)) {
				t.Errorf("%v", e)
			}
		}
	}
	note()
	note()
	listed(1)
	owner := testkit.As(t.Context(), w.Ground, caller.Caller{
		UserID: "owner", OrganizationID: w.OrgID, HomeOrganizationID: w.OrgID,
		Memberships: []caller.Membership{{OrganizationID: w.OrgID, Roles: []string{"ORG_OWNER"}}},
	})
	_, err := list.ListInstanceExpirations(owner, &usersv1.ListExpirationsRequest{Within: "40d"})
	testkit.Refused(t, err, "PERMISSION_DENIED", "iam.read")
	j := w.Service.Journal
	for _, days := range []int{2, 3} {
		j.Now = func() time.Time { return w.Now().AddDate(0, 0, days) }
		if err := expiration.Announce(t.Context(), j, store.Expiring); err != nil {
			t.Fatal(err)
		}
	}
	var announced int
	if err := j.DB.QueryRow(t.Context(), `select count(*) from events where aggregate = 'certificate'`).
		Scan(&announced); err != nil || announced != 1 {
		t.Errorf("%d announcements, %v", announced, err)
	}
	sweep := func(now time.Time) {
		if err := store.New(j).Sweep(t.Context(), now, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	sweep(w.Now().Add(domain.CertificateKept - time.Minute))
	listed(1)
	sweep(w.Now().Add(domain.CertificateKept + time.Minute))
	listed(0)
}
