package services

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/postgres"
	"herald/shared/secret"
)

// batch is how many rows are written in one transaction. It bounds how long they are locked.
const batch = 200

// CountSealed returns the number of secrets of a column by the key that sealed them. It reads the whole
// table.
func CountSealed(ctx context.Context, db *pgxpool.Pool, c secret.Column) (map[secret.KeyID]int64, error) {
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
		var id secret.KeyID // the beginning of a sealed secret; a cut one has zeros at its end
		copy(id[:], g.Key)
		counts[id] += g.N
	}
	return counts, nil
}

// check returns an error that names a missing key if the keys cannot open every secret.
func check(ctx context.Context, db *pgxpool.Pool, keys secret.Keys, columns []secret.Column) error {
	known := map[secret.KeyID]bool{}
	for _, id := range keys.IDs() {
		known[id] = true
	}
	for _, c := range columns {
		counts, err := CountSealed(ctx, db, c)
		if err != nil {
			return err
		}
		for id, n := range counts {
			if !known[id] {
				return fmt.Errorf("%d secrets in %s are sealed with the master key %s, which is missing: add it "+
					"again at the end of the file; then `herald keys status` lists what needs it", n, c, id)
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

// Reseal seals again, with the first key, the secrets of a column that other keys have sealed. It calls done with the
// number of secrets of each batch. It does not overwrite a secret that changes at the same time. It can be stopped and
// repeated, and two can run at once. It does not change secrets that cannot be opened. If there are any, it returns an
// error at the end.
func Reseal(ctx context.Context, db *pgxpool.Pool, keys secret.Keys, c secret.Column, done func(int64)) error {
	// Another pass finds secrets that were sealed with another key during this one.
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

// pass reseals the secrets of a column once, in the order of the rows' keys, so that two passes at
// once lock them in the same order. It returns how many secrets another key had sealed, and how
// many it cannot open.
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
		if err := db.SendBatch(ctx, &writes).Close(); err != nil { // one transaction
			return found, lost, postgres.Fault(err)
		}
		done(int64(writes.Len()))
	}
}

// sql replaces the placeholders of a statement by a column's names.
func sql(c secret.Column, statement string) string {
	quoted := func(name string) string { return pgx.Identifier{name}.Sanitize() }
	return strings.NewReplacer("{table}", quoted(c.Table), "{column}", quoted(c.Name), "{key}", quoted(c.Key)).
		Replace(statement)
}
