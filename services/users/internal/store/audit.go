package store

import (
	"context"

	"herald/shared/event"
	"herald/shared/postgres"
)

// Events returns the reader of this service's events, and of refused logins.
func (s Store) Events() event.Reader {
	return event.Reader{Journal: s.journal, Also: refusedLogins,
		Names: `(select ` + userName + ` from users u where u.id = e.aggregate_id),
			(select o.name from organizations o where o.id = e.aggregate_id)`}
}

// userName is what a row of the table users is called.
const userName = `coalesce(nullif(u.display_name, ''), u.user_name)`

// NamesOfUsers returns what users of any organization are called, by their ids. It leaves out ids of nobody.
func (s Store) NamesOfUsers(ctx context.Context, ids []string) (map[string]string, error) {
	type row struct{ ID, Name string }
	rows, err := postgres.All[row](ctx, s.journal.DB, `select u.id, `+userName+` as name from users u
		where u.id = any (@ids)`, postgres.Args{"ids": ids})
	names := make(map[string]string, len(rows))
	for _, r := range rows {
		names[r.ID] = r.Name
	}
	return names, err
}
