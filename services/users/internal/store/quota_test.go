package store_test

import (
	"fmt"
	"strings"
	"testing"

	"herald/shared/fault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/testkit"
)

// Of fifty objects at once as many are created as a quota leaves, and the fault of the others names it.
func TestQuotaHoldsForFiftyAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table  string
		create func(w world, n int) error
	}{
		"pats": {"personal_access_tokens", func(w world, n int) error {
			id := fmt.Sprint("t", n)
			_, err := w.CreatePAT(w.Context(), token("u1", "org-a", id), []byte(id), noted)
			return err
		}},
		"keys": {"machine_keys", func(w world, n int) error {
			_, err := w.AddMachineKey(w.Context(), machineKey("m1", "org-a", fmt.Sprint("k", n)), []byte{1}, happened)
			return err
		}},
		"members": {"members", func(w world, n int) error {
			id := fmt.Sprint("member", n)
			w.user("org-a", id)
			return w.createMember(owner(id, "org-a", ""))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.org("org-a")
			w.user("org-a", "u1")
			w.machine("org-a", "m1")
			had := testkit.Rows(t, w.db, c.table)
			w.must(nil, postgres.SetQuotas(t.Context(), w.db,
				quota.Settings{Quotas: fmt.Sprintf("%s=0,%[1]s@org-a=%d", name, had+3)}))
			made := testkit.Race(t, 50, func(n int) error { return c.create(w, n) }, fault.ErrQuotaExceeded.ID)
			if made != 3 || testkit.Rows(t, w.db, c.table) != had+3 {
				t.Errorf("%d were created", made)
			}
			if err := c.create(w, 99); !strings.Contains(err.Error(), `quota "`+name+`"`) {
				t.Error(err)
			}
		})
	}
}
