package users_test

import (
	"slices"
	"testing"
)

// Where Postgres has no room any more in the middle of a batch, none of the batch is written, no row is said to be
// refused, and all of it is imported once there is room.
func TestImportUsersIntoAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, sql := range []string{
		`create function full_disk() returns trigger language plpgsql as $$ begin
			raise exception 'could not extend file: No space left on device' using errcode = 'disk_full';
		end $$`,
		`create trigger full_disk after insert on events for each row when (new.aggregate_id = 'b')
			execute function full_disk()`,
	} {
		if _, err := w.service.DB.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	mailed := row("c")
	mailed.User.Email.IsEmailVerified = false
	batch := bulk(w.orgID, row("a"), row("b"), mailed)
	var events int
	for range 2 {
		events = w.rows("events")
		_, err := w.gateway.ImportUsers(w.admin, batch)
		refused(t, err, "UNAVAILABLE")
		if w.rows("users where id in ('a', 'b', 'c')") != 0 || w.rows("codes") != 0 || w.rows("events") != events {
			t.Error("a part of the batch was written")
		}
	}
	checked, err := w.gateway.CheckImport(w.admin, batch)
	if err != nil || checked.NewUsers != 3 {
		t.Errorf("the check, which writes nothing, says %v, %v", checked, err)
	}
	if _, err := w.service.DB.Exec(t.Context(), "drop trigger full_disk on events"); err != nil {
		t.Fatal(err)
	}
	ids, errs := w.imported(w.admin, batch)
	if !slices.Equal(ids, []string{"a", "b", "c"}) || len(errs) > 0 || w.rows("events") != events+3 ||
		w.rows("codes") != 1 {
		t.Errorf("imported %v, %v", ids, errs)
	}
}
