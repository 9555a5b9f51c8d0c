package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Args are the arguments of a statement by their names: @id in its SQL stands for the argument id. Every name in the
// SQL must have an argument, and every argument must be used in the SQL.
//
// Each connection caches the translated statements, because a program has only few different ones.
type Args map[string]any

// translation is SQL with $1, $2 and so on, and the names of these arguments in order.
type translation struct {
	sql   string
	names []string
}

// translations is the key of the cache in a connection's custom data. The cache maps SQL with names to its
// translation.
const translations = "herald/shared/postgres.translations"

// RewriteQuery implements pgx.QueryRewriter.
func (a Args) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, unnamed []any) (string, []any, error) {
	if len(unnamed) > 0 {
		return "", nil, fmt.Errorf("%d arguments have no name", len(unnamed))
	}
	custom := conn.PgConn().CustomData()
	known, ok := custom[translations].(map[string]translation)
	if !ok {
		known = map[string]translation{}
		custom[translations] = known
	}
	t, ok := known[sql]
	if !ok {
		var err error
		if t, err = a.translate(ctx, conn, sql); err != nil {
			return "", nil, err
		}
		known[sql] = t
	}
	values := make([]any, len(t.names))
	for i, name := range t.names {
		if values[i], ok = a[name]; !ok {
			return "", nil, a.mismatch(ctx, conn, sql)
		}
	}
	if len(a) != len(values) {
		return "", nil, a.mismatch(ctx, conn, sql)
	}
	return t.sql, values, nil
}

// translate lets pgx replace the names, because pgx understands texts, comments and operators in SQL. It passes the
// names themselves as arguments, so that pgx returns the names in order.
func (a Args) translate(ctx context.Context, conn *pgx.Conn, sql string) (translation, error) {
	names := pgx.StrictNamedArgs{}
	for name := range a {
		names[name] = name
	}
	sql, ordered, err := names.RewriteQuery(ctx, conn, sql, nil)
	if err != nil {
		return translation{}, err
	}
	t := translation{sql: sql}
	for _, name := range ordered {
		t.names = append(t.names, name.(string))
	}
	return t, nil
}

// mismatch returns pgx's error for arguments that are missing from the SQL or from the call.
func (a Args) mismatch(ctx context.Context, conn *pgx.Conn, sql string) error {
	_, _, err := pgx.StrictNamedArgs(a).RewriteQuery(ctx, conn, sql, nil)
	return err
}
