package tenancy_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// gifts returns the calls that give roles in the callers' organization to users of the foreign one.
func (w *world) gifts(open []attempt) []attempt {
	return slices.DeleteFunc(slices.Clone(open), func(a attempt) bool {
		org, _ := a.acted()
		return reads(a.Method) || a.object.place != foreign || org != w.own.org ||
			strings.HasPrefix(a.Access.Permission, "iam.")
	})
}

// gives makes such calls. They change nothing that the users have in their own organization, by which plant made all
// their credentials. Lists show the roles, so these calls come last.
func (w *world) gives(gifts []attempt) {
	methods := map[string]bool{}
	for _, a := range gifts {
		got := w.rest(a, w.request(a.Method, a.object))
		if got.status != http.StatusOK && got.status != http.StatusConflict {
			w.t.Errorf("%s answered %d %s", a, got.status, got.body)
		}
		methods[string(a.Name())] = true
	}
	if len(methods) != len(anywhere)-1 { // without the one that gives roles in the instance
		w.t.Errorf("roles for foreign users were given by %v only", slices.Sorted(maps.Keys(methods)))
	}
}

// plant makes a user without roles the maker of all credentials and addresses of the foreign organization's users.
// Every role that counts there would end them.
func (w *world) plant() {
	w.querying.Lock()
	defer w.querying.Unlock()
	rows, _ := w.db["users"].Query(w.t.Context(), `select format('update %I set %I = array[''nobody''] where %s in
			(select id from users where org_id = $1)', table_name, column_name,
			case table_name when 'users' then 'id' else 'user_id' end)
		from information_schema.columns where table_schema = 'public' and column_name like '%makers'`)
	updates, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(updates) < 8 {
		w.t.Fatalf("only %d kinds of credentials have makers: %v", len(updates), err)
	}
	for _, update := range updates {
		if _, err := w.db["users"].Exec(w.t.Context(), update, w.foreign.org); err != nil {
			w.t.Errorf("%s: %v", update, err)
		}
	}
}
