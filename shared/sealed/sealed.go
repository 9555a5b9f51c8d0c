// Package sealed keeps the secrets in databases readable while the master key changes: it counts
// which keys they need, and seals them anew with the first one.
package sealed

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/postgres"
	"herald/shared/secret"
)

// batch is how many rows are written at once. It bounds how long their locks are held.
const batch = 200

// Count returns how many secrets of a column each key has sealed. It reads the whole table.
func Count(ctx context.Context, db *pgxpool.Pool, c secret.Column) (map[secret.KeyID]int64, error) {
	type group struct {
		Key []byte
		N   int64
	}
	groups, err := postgres.All[group](ctx, db, sql(c, `select substring({column} for 8) as key, count(*) as n
		from {table} where {column} is not null group by 1`), postgres.Args{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	counts := map[secret.KeyID]int64{}
	for _, g := range groups {
		counts[keyID(g.Key)] += g.N
	}
	return counts, nil
}

// Check returns an error that names the missing keys when the keys cannot open every secret.
func Check(ctx context.Context, db *pgxpool.Pool, keys secret.Keys, columns []secret.Column) error {
	known := map[secret.KeyID]bool{}
	for _, id := range keys.IDs() {
		known[id] = true
	}
	for _, c := range columns {
		counts, err := Count(ctx, db, c)
		if err != nil {
			return err
		}
		for id, n := range counts {
			if !known[id] {
				return fmt.Errorf("%d secrets in %s are sealed with the master key %s, which is not at hand: put it "+
					"back below the others, then `herald keys status` says what needs it", n, c, id)
			}
		}
	}
	return nil
}

// row is a secret where it is stored.
type row struct {
	Key   string
	Value []byte
}

// Reseal seals anew what another key than the first has sealed, and calls done with the number of
// secrets of each batch. A secret that somebody changes at the same time is left to them. It can
// be stopped and repeated at any time, and run twice at once. Secrets that cannot be opened are
// left as they are, and are an error at the end.
func Reseal(ctx context.Context, db *pgxpool.Pool, keys secret.Keys, c secret.Column, done func(int64)) error {
	// What somebody sealed with another key meanwhile is found by one more pass.
	for {
		n, lost, err := pass(ctx, db, keys, c, done)
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
		if n > 0 {
			continue
		}
		if lost > 0 {
			return fmt.Errorf("%d secrets in %s cannot be opened with the master keys at hand", lost, c)
		}
		return nil
	}
}

// pass goes through a column once, in the order of its rows, so that two passes at once lock them
// in the same order. It returns how many secrets it found to seal anew, and how many it cannot open.
func pass(
	ctx context.Context, db *pgxpool.Pool, keys secret.Keys, c secret.Column, done func(int64),
) (found, lost int, err error) {
	first := keys.IDs()[0]
	for after := ""; ; {
		rows, err := postgres.All[row](ctx, db, sql(c, `select {key} as key, {column} as value from {table}
			where substring({column} for 8) <> @first and {key} > @after order by {key} limit @batch`),
			postgres.Args{"first": first[:], "after": after, "batch": batch})
		if err != nil || len(rows) == 0 {
			return found, lost, err
		}
		after = rows[len(rows)-1].Key
		var writes pgx.Batch
		for _, r := range rows {
			plain, err := keys.Open(r.Value, c, r.Key)
			if err != nil {
				lost++
				continue
			}
			writes.Queue(sql(c, `update {table} set {column} = @new where {key} = @row and {column} = @old`),
				postgres.Args{"new": keys.Seal(plain, c, r.Key), "row": r.Key, "old": r.Value})
		}
		found += writes.Len()
		if err := db.SendBatch(ctx, &writes).Close(); err != nil { // in one transaction
			return found, lost, postgres.Fault(err)
		}
		done(int64(writes.Len()))
	}
}

// sql puts a column's names into a statement.
func sql(c secret.Column, statement string) string {
	quoted := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	return strings.NewReplacer("{table}", quoted(c.Table), "{column}", quoted(c.Name), "{key}", quoted(c.Key)).
		Replace(statement)
}

// keyID is the zero KeyID for what no key has sealed.
func keyID(prefix []byte) (id secret.KeyID) {
	copy(id[:], prefix)
	return id
}
