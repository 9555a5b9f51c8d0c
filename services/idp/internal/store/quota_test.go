package store_test

import (
	"fmt"
	"testing"

	"herald/shared/fault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/testkit"
)

// Of fifty providers at once as many are created as the quota of the organization leaves.
func TestQuotaHoldsForFiftyAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := postgres.SetQuotas(t.Context(), w.db, quota.Settings{Quotas: "idps=1,idps@org-a=3"}); err != nil {
		t.Fatal(err)
	}
	made := testkit.Race(t, 50, func(n int) error {
		_, err := w.CreateIdp(t.Context(), anIdp("org-a", fmt.Sprint("i", n)), &idpv1.IdpCreated{})
		return err
	}, fault.ErrQuotaExceeded.ID)
	if made != 3 || w.rows("idps") != 3 {
		t.Errorf("%d were created", made)
	}
	w.make("org-b", "theirs")
}
