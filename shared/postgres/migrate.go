package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/tern/v2/migrate"

	"herald/shared/retry"
)

// Newest is the version of all migrations.
const Newest = math.MaxInt32

const (
	// lockLimit is how long a migration waits for a lock. All requests for the table wait behind it, so after that time
	// it lets them go first, and tries again.
	lockLimit = "2s"
	lockPause = time.Second
	// unlock gives back the lock with which replicas migrate one after another. Postgres may grant it at the moment at
	// which the wait for it ends with an error. The connection would then keep it in the pool, and no other replica
	// could start.
	unlock = "select pg_advisory_unlock_all()"
	// A migration may take longer than statementLimit, and so may waiting for the migration of another replica.
	migrationLimits = "set statement_timeout = 0; set lock_timeout = '" + lockLimit + "'"
)

// needsNewer is in a migration with which earlier versions of Herald do not work, such as one that drops a column. With
// all others they do, so that a version can be upgraded process by process, and go back.
const needsNewer = "-- Earlier versions of Herald do not work with this."

// Migrate runs the migrations in the directory migrations that a database does not have yet. Replicas that start at
// the same time wait for each other. history is the name of the table with the version. A service's own tables and
// the tables of its events have separate versions. A database that a newer program has migrated stays as it is, unless
// a migration says that earlier versions do not work with it.
func Migrate(ctx context.Context, pool *pgxpool.Pool, history string, migrations fs.FS) error {
	return MigrateTo(ctx, pool, history, migrations, Newest)
}

// MigrateTo does the same, but only up to a version, for the rows of a backup that is of that version.
func MigrateTo(ctx context.Context, pool *pgxpool.Pool, history string, migrations fs.FS, version int32) error {
	return pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		if _, err := c.Exec(ctx, migrationLimits); err != nil {
			return fmt.Errorf("migrate %s: %w", history, Fault(err))
		}
		defer func() {
			if _, err := c.Exec(ctx, "reset statement_timeout; reset lock_timeout; "+unlock); err != nil {
				c.Conn().Close(ctx) // the pool opens another
			}
		}()
		for {
			err := migrateOnce(ctx, c, history, migrations, version)
			if !IsLockTaken(err) {
				return err
			}
			if _, err := c.Exec(ctx, unlock); err != nil {
				return fmt.Errorf("migrate %s: %w", history, Fault(err))
			}
			if !retry.Wait(ctx, lockPause) {
				return err
			}
		}
	})
}

// IsLockTaken reports whether a statement has waited for a lock for as long as lock_timeout allows.
func IsLockTaken(err error) bool {
	refused, is := errors.AsType[*pgconn.PgError](err)
	return is && refused.Code == "55P03" // lock_not_available
}

func migrateOnce(ctx context.Context, c *pgxpool.Conn, history string, migrations fs.FS, version int32) error {
	m, err := migrate.NewMigrator(ctx, c.Conn(), history)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", history, Fault(err))
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrate %s: %w", history, err)
	}
	if err := m.LoadMigrations(files); err != nil {
		return fmt.Errorf("migrate %s: %w", history, err)
	}
	m.OnStart = func(int32, string, string, string) { // tern resets all settings after each migration
		_, _ = c.Exec(ctx, migrationLimits) // the migration fails too
	}
	found, err := m.GetCurrentVersion(ctx)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", history, Fault(err))
	}
	known := int32(len(m.Migrations))
	if version == Newest {
		if found > known {
			return worksWith(ctx, c, history, found, known)
		}
		version = known
	}
	if wanted := max(found, version); wanted > known {
		return newer(history, wanted, known)
	}
	if err := m.MigrateTo(ctx, version); err != nil {
		return fmt.Errorf("migrate %s: %w%s", history, err, hint(err))
	}
	if err := keepOldest(ctx, c, history, m.Migrations[:version]); err != nil {
		return fmt.Errorf("migrate %s: %w", history, Fault(err))
	}
	return nil
}

// oldest is SQL for the lowest version whose programs work with the tables, or null if no program has said. The column
// is not in the tables of before.
func oldest(history string) string {
	return `select (to_jsonb(h)->>'oldest')::int from ` + pgx.Identifier{history}.Sanitize() + ` h`
}

// keepOldest says in the database which programs work with it. They ask worksWith.
func keepOldest(ctx context.Context, c *pgxpool.Conn, history string, migrations []*migrate.Migration) error {
	var wanted int32
	for _, m := range migrations {
		if strings.Contains(m.UpSQL, needsNewer) {
			wanted = m.Sequence
		}
	}
	var said *int32
	if err := c.QueryRow(ctx, oldest(history)).Scan(&said); err != nil || said != nil && *said == wanted {
		return err
	}
	table := pgx.Identifier{history}.Sanitize()
	_, err := c.Exec(ctx, fmt.Sprintf(`alter table %s add column if not exists oldest int; update %s set oldest = %d`,
		table, table, wanted))
	return err
}

// worksWith returns an error unless a program works with tables that a newer one has migrated.
func worksWith(ctx context.Context, db rower, history string, found, known int32) error {
	var said *int32
	if err := db.QueryRow(ctx, oldest(history)).Scan(&said); err != nil {
		return fmt.Errorf("migrate %s: %w", history, Fault(err))
	}
	if said == nil || *said > known {
		return newer(history, found, known)
	}
	return nil
}

// rower is a connection or a pool.
type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func newer(history string, found, known int32) error {
	return fmt.Errorf("the database is of a newer Herald: its %s is %d, and this program knows %d; start the "+
		"newer one, or restore the backup of before the upgrade", history, found, known)
}

// Pending returns the names of the migrations that a database does not have yet, in order.
func Pending(ctx context.Context, pool *pgxpool.Pool, history string, migrations fs.FS) ([]string, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	names, err := migrate.FindMigrations(files)
	if err != nil {
		return nil, err
	}
	var there bool
	var version int32
	err = pool.QueryRow(ctx, `select to_regclass($1) is not null`, history).Scan(&there)
	if err == nil && there {
		err = pool.QueryRow(ctx, `select version from `+pgx.Identifier{history}.Sanitize()).Scan(&version)
	}
	if err != nil {
		return nil, Fault(err)
	}
	if int(version) > len(names) {
		return nil, worksWith(ctx, pool, history, version, int32(len(names)))
	}
	return names[version:], nil
}

// hint returns text for an error message that says what to do when the server lacks an extension.
func hint(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (pg.Code == "0A000" || pg.Code == "58P01") { // not available; the extension's file is missing
		return " (install Postgres's contrib modules on the server, such as the package postgresql-contrib)"
	}
	return ""
}
