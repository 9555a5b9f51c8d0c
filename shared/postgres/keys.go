package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/secret"
)

// holder is the prefix of the name of a service's connections. The ids of its master keys follow it.
const holder = "herald "

// OpenAs opens a pool for a service, as Open does. The name of its connections contains the ids of the master keys
// (see Holders). If there are several master keys and the password is derived from one of them, each new connection
// uses the password that the role has at that time.
func OpenAs(
	ctx context.Context, url secret.Text, keys secret.Keys, service string, o Observers,
) (*pgxpool.Pool, error) {
	var passwords, ids []string
	for _, k := range keys.Each() {
		passwords = append(passwords, Password(k, service).Reveal())
	}
	for _, id := range keys.IDs() {
		ids = append(ids, id.String())
	}
	return open(ctx, url, o, func(c *pgxpool.Config) {
		c.ConnConfig.RuntimeParams["application_name"] = holder + strings.Join(ids, ",")
		if len(passwords) > 1 && slices.Contains(passwords, c.ConnConfig.Password) {
			c.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
				c.Password = accepted(ctx, c, passwords)
				return nil
			}
		}
	})
}

// accepted returns the password that the server accepts. If it accepts none, accepted returns the first one, and the
// pool then gets the server's error.
func accepted(ctx context.Context, c *pgx.ConnConfig, passwords []string) string {
	for _, p := range passwords {
		try := c.Config.Copy()
		try.Password = p
		if conn, err := pgconn.ConnectConfig(ctx, try); err == nil {
			_ = conn.Close(ctx)
			return p
		}
	}
	return passwords[0]
}

// Holders returns the master keys of every process that is connected to a service's database: the texts of their
// KeyIDs, in order. It sees only processes that use the same role.
func Holders(ctx context.Context, db *pgxpool.Pool) ([][]string, error) {
	rows, err := db.Query(ctx, `select distinct application_name from pg_stat_activity
		where datname = current_database() and starts_with(application_name, $1)`, holder)
	if err != nil {
		return nil, Fault(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	var held [][]string
	for _, name := range names {
		held = append(held, strings.Split(strings.TrimPrefix(name, holder), ","))
	}
	return held, Fault(err)
}
