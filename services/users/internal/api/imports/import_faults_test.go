package imports_test

import (
	"slices"
	"testing"

	"herald/services/users/internal/testworld"
	"herald/shared/testkit"
)

// If the disk of Postgres becomes full in the middle of a batch, none of the batch is written and no row is reported as
// refused. All of it is imported once there is room.
func TestImportUsersIntoAFullDisk(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	for _, sql := range []string{
		`create function full_disk() returns trigger language plpgsql as $$ begin
			raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
		end $$`,
		`create trigger full_disk after insert on events for each row when (new.aggregate_id = 'b')
			execute function full_disk()`,
	} {
		w.Must(w.Service.DB.Exec(t.Context(), sql))
	}
	mailed := row("c")
	mailed.User.Email.IsEmailVerified = false
	batch := testworld.Bulk(w.OrgID, row("a"), row("b"), mailed)
	var events int
	for range 2 {
		events = w.Rows("events")
		_, err := w.Gateway.ImportUsers(w.Admin, batch)
		testkit.Refused(t, err, "UNAVAILABLE")
		if w.Rows("users where id in ('a', 'b', 'c')") != 0 || w.Rows("codes") != 0 || w.Rows("events") != events {
			t.Error("a part of the batch was written")
		}
	}
	checked, err := w.Gateway.CheckImport(w.Admin, batch)
	if err != nil || checked.NewUsers != 3 {
		t.Errorf("the check, which writes nothing, says %v, %v", checked, err)
	}
	w.Must(w.Service.DB.Exec(t.Context(), "drop trigger full_disk on events"))
	ids, errs := w.Imported(w.Admin, batch)
	if !slices.Equal(ids, []string{"a", "b", "c"}) || len(errs) > 0 || w.Rows("events") != events+3 ||
		w.Rows("codes") != 1 {
		t.Errorf("imported %v, %v", ids, errs)
	}
}
