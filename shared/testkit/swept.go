package testkit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// timesThatStay lists tables that every service has. They have a time column, but their rows do not expire. The
// values are the reasons.
var timesThatStay = map[string]string{
	"events":           "histories show them",
	"expiration_steps": "has a row for each step",
	"first_start":      "has one row",
	"outbox":           "a row is deleted when its event is published",
	"removals":         "a removal ends with its row",
	"stream_seen":      "has one row",
}

// Swept fails the test unless sweep deletes from each table that has a time column other than created_at and
// changed_at. stay lists the exceptions with the reasons.
func Swept(t testing.TB, db *pgxpool.Pool, stay map[string]string, sweep func(context.Context) error) {
	t.Helper()
	rows, err := db.Query(t.Context(), `select distinct table_name::text from information_schema.columns
		join information_schema.tables using (table_schema, table_name)
		where table_schema = current_schema and table_type = 'BASE TABLE'
			and udt_name in ('timestamptz', '_timestamptz') and column_name not in ('created_at', 'changed_at')
		order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	timed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(t.Context(), `create table swept (name text);
		create function note_swept() returns trigger language plpgsql as $$
		begin
			insert into swept values (tg_table_name);
			return null;
		end $$`); err != nil {
		t.Fatal(err)
	}
	for _, table := range timed { // the trigger is called even if there is no row to delete
		if _, err := db.Exec(t.Context(), `create trigger note_swept after delete on `+pgx.Identifier{table}.Sanitize()+
			` for each statement execute function note_swept()`); err != nil {
			t.Fatal(err)
		}
	}
	if err := sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, table := range timed {
		_, stays := stay[table]
		_, everywhere := timesThatStay[table]
		switch swept := Rows(t, db, "swept where name = $1", table) > 0; {
		case swept && (stays || everywhere):
			t.Errorf("%s is swept, and has a reason to stay", table)
		case !swept && !stays && !everywhere:
			t.Errorf("nothing deletes old rows of %s: add it to the sweep, or say here why they stay", table)
		}
		delete(stay, table)
	}
	for table := range stay {
		t.Errorf("%s has no time, or is not there", table)
	}
}
