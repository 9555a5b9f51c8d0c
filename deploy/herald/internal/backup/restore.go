package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"herald/shared/boot"
	"herald/shared/event"
	"herald/shared/postgres"
)

// Target is the database of a service that is restored.
type Target struct {
	Service    string
	DB         *pgxpool.Pool
	Migrations fs.FS
	// Restored are the changes after the rows are there.
	Restored []postgres.Restored
}

// Options say how to restore.
type Options struct {
	// Replace removes what is in the databases.
	Replace bool
	// KeepKeys leaves out the changes of keys.
	KeepKeys bool
	// Compare reads all tables again and compares their digests with those of the backup.
	Compare bool
}

// Report is what a restore did.
type Report struct {
	End End
	// Changed are the changes after the restore, in order.
	Changed []Change
}

// Change is the number of rows that a change of a service has changed.
type Change struct {
	Service, What string
	Rows          int64
}

// gap is the number of positions that are left out after those of the backup. The system that was lost has given some
// of them to events that the backup does not have, and subscribers know these.
const gap = 1_000_000_000

// Restore fills databases with a backup. They have no rows before, unless Replace is set. It changes nothing until all
// rows are there and complete; then it removes the stream of events, and commits the databases one after another. If it
// was killed during that, it can be repeated with Replace.
func Restore(
	ctx context.Context, r *Reader, targets []Target, js jetstream.JetStream, o Options,
) (Report, error) {
	var all []*restoring
	defer func() { closeAll(ctx, all) }()
	for _, s := range r.Header.Services {
		i := slices.IndexFunc(targets, func(t Target) bool { return t.Service == s.Name })
		if i < 0 {
			return Report{}, fmt.Errorf("the backup is of a service %s, which this Herald does not have", s.Name)
		}
		t := &restoring{Target: targets[i], of: s, sums: map[string]Sum{}}
		all = append(all, t)
		if err := t.prepare(ctx, o); err != nil {
			return Report{}, fmt.Errorf("database of %s: %w", s.Name, err)
		}
	}
	if err := read(ctx, r, all); err != nil {
		return Report{}, err
	}
	report := Report{End: *r.end}
	finish, inner := errgroup.WithContext(ctx)
	for _, t := range all {
		finish.Go(func() error {
			if err := t.finish(inner, *r.end, o); err != nil {
				return fmt.Errorf("database of %s: %w", t.Service, postgres.Fault(err))
			}
			return nil
		})
	}
	err := finish.Wait()
	if err == nil {
		report.Changed, err = commit(ctx, all, js, "restore again with --replace")
	}
	if err != nil {
		return Report{}, err
	}
	for _, t := range all { // a new table has no statistics, and plans without them are slow
		if _, err := t.conn.Exec(ctx, "analyze"); err != nil {
			return report, fmt.Errorf("analyze the database of %s: %w", t.Service, postgres.Fault(err))
		}
	}
	return report, nil
}

// Recovered makes the changes of a restore in databases that Postgres itself has brought back to an earlier moment, and
// removes the stream of events. It can be repeated.
func Recovered(ctx context.Context, targets []Target, js jetstream.JetStream, o Options) ([]Change, error) {
	var all []*restoring
	defer func() { closeAll(ctx, all) }()
	for _, target := range targets {
		t := &restoring{Target: target}
		all = append(all, t)
		err := t.alone(ctx)
		if err == nil {
			err = t.promoted(ctx)
		}
		if err == nil {
			err = t.begin(ctx)
		}
		var position int64
		if err == nil {
			err = t.tx.QueryRow(ctx, `select coalesce(max(position), 0) from events`).Scan(&position)
		}
		if err == nil {
			err = t.change(ctx, position, o)
		}
		if err != nil {
			return nil, fmt.Errorf("database of %s: %w", t.Service, postgres.Fault(err))
		}
	}
	return commit(ctx, all, js, "type the command again")
}

// commit removes the stream of events and commits all databases. cure is what to do if only some are committed.
func commit(ctx context.Context, all []*restoring, js jetstream.JetStream, cure string) (changed []Change, err error) {
	if err := event.RemoveStream(ctx, js); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // a commit takes no time
	for _, t := range all {
		if err := t.tx.Commit(ctx); err != nil {
			return nil, fmt.Errorf("database of %s: %w; some databases may be restored and others not: %s", t.Service,
				postgres.Fault(err), cure)
		}
		changed = append(changed, t.changed...)
	}
	return changed, nil
}

func closeAll(ctx context.Context, all []*restoring) {
	for _, t := range all {
		t.close(context.WithoutCancel(ctx))
	}
}

// read passes the rows to the databases, which take them in parallel.
func read(ctx context.Context, r *Reader, all []*restoring) error {
	work, ctx := errgroup.WithContext(ctx)
	queues := map[string]chan rows{}
	for _, t := range all {
		queue := make(chan rows, 1)
		queues[t.Service] = queue
		work.Go(func() error {
			for m := range queue {
				if err := t.take(ctx, m); err != nil {
					return fmt.Errorf("table %s of %s: %w", m.table, t.Service, postgres.Fault(err))
				}
			}
			return nil
		})
	}
	work.Go(func() error {
		defer func() {
			for _, q := range queues {
				close(q)
			}
		}()
		for {
			m, err := r.next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if queues[m.service] == nil {
				return errNoBackup
			}
			select {
			case queues[m.service] <- m:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	})
	return work.Wait()
}

// restoring is a database that is being restored, in one transaction.
type restoring struct {
	Target
	of      Service
	conn    *pgxpool.Conn
	tx      pgx.Tx
	indexes []string
	sums    map[string]Sum
	changed []Change
}

func (t *restoring) close(ctx context.Context) {
	if t.tx != nil {
		_ = t.tx.Rollback(ctx)
	}
	if t.conn != nil {
		t.conn.Release()
	}
}

// prepare makes the tables as they were when the backup was made.
func (t *restoring) prepare(ctx context.Context, o Options) error {
	if err := t.alone(ctx); err != nil {
		return err
	}
	if err := t.empty(ctx, o.Replace); err != nil {
		return err
	}
	if err := boot.MigrateTo(ctx, t.DB, t.Migrations, t.of.Events, t.of.Schema); err != nil {
		return err
	}
	err := t.begin(ctx)
	if err == nil {
		err = t.bare(ctx)
	}
	return postgres.Fault(err)
}

// alone returns an error if a process of the service is connected.
func (t *restoring) alone(ctx context.Context) error {
	holders, err := postgres.Holders(ctx, t.DB)
	if err == nil && len(holders) > 0 {
		err = errors.New("a process of the service is connected: stop all processes of Herald first")
	}
	return err
}

// promoted returns an error if the server is not yet at its moment.
func (t *restoring) promoted(ctx context.Context) error {
	var recovering bool
	err := t.DB.QueryRow(ctx, `select pg_is_in_recovery()`).Scan(&recovering)
	if err == nil && recovering {
		err = errors.New("the server is still in recovery: wait until it takes changes; if it was told to pause at " +
			"its target, select pg_wal_replay_resume()")
	}
	return err
}

func (t *restoring) begin(ctx context.Context) (err error) {
	if t.conn, err = t.DB.Acquire(ctx); err == nil {
		t.tx, err = t.conn.Begin(ctx)
	}
	return err
}

// empty returns an error if the database has events and must not be replaced. It removes the tables, because they may
// be of a newer version.
func (t *restoring) empty(ctx context.Context, replace bool) error {
	var used bool
	err := t.DB.QueryRow(ctx, `select to_regclass('events') is not null`).Scan(&used)
	if err == nil && used {
		err = t.DB.QueryRow(ctx, `select exists (select from events)`).Scan(&used)
	}
	switch {
	case err != nil:
		return postgres.Fault(err)
	case used && !replace:
		return errors.New("the system is not empty: --replace removes what is in it")
	}
	_, err = t.DB.Exec(ctx, `drop schema public cascade; create schema public`)
	return postgres.Fault(err)
}

// bare removes the first rows that migrations have made, turns triggers off and removes the indexes, which are faster
// to make when all rows are there.
func (t *restoring) bare(ctx context.Context) error {
	_, err := t.tx.Exec(ctx, `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
		set local maintenance_work_mem = '128MB'`)
	if err != nil {
		return err
	}
	here, err := tables(ctx, t.tx)
	if err != nil {
		return err
	}
	for i, table := range slices.Backward(here) {
		if i >= len(t.of.Tables) || table.Name != t.of.Tables[i].Name || len(here) != len(t.of.Tables) {
			return fmt.Errorf("the tables of the backup are not those of its version: %s", table.Name)
		}
		name := pgx.Identifier{table.Name}.Sanitize()
		if _, err := t.tx.Exec(ctx, "alter table "+name+" disable trigger user; delete from "+name); err != nil {
			return err
		}
	}
	found, _ := t.tx.Query(ctx, `select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as text
		from pg_index i join pg_class c on c.oid = i.indexrelid
		where c.relnamespace = 'public'::regnamespace and not i.indisunique
			and not exists (select from pg_constraint where conindid = i.indexrelid)`)
	indexes, err := pgx.CollectRows(found, pgx.RowToStructByName[struct{ Name, Text string }])
	if err != nil {
		return err
	}
	for _, index := range indexes {
		t.indexes = append(t.indexes, index.Text)
		if _, err := t.tx.Exec(ctx, "drop index "+index.Name); err != nil {
			return err
		}
	}
	return nil
}

// take writes rows of a table.
func (t *restoring) take(ctx context.Context, m rows) error {
	i := slices.IndexFunc(t.of.Tables, func(known Table) bool { return known.Name == m.table })
	if i < 0 {
		return errNoBackup
	}
	in, err := m.inflate()
	if err != nil {
		return err
	}
	counted := &counting{in: in}
	if _, err := t.tx.Conn().PgConn().CopyFrom(ctx, counted, t.of.Tables[i].copySQL("from stdin")); err != nil {
		return err
	}
	sum := t.sums[m.table]
	sum.plus(counted.done())
	t.sums[m.table] = sum
	return nil
}

// counting adds the rows that are read through it.
type counting struct {
	in   io.Reader
	rest []byte
	sum  Sum
}

// Read implements io.Reader.
func (c *counting) Read(to []byte) (int, error) {
	n, err := c.in.Read(to)
	c.rest = append(c.rest, to[:n]...)
	if whole := bytes.LastIndexByte(c.rest, '\n') + 1; whole > 0 {
		c.sum.add(c.rest[:whole])
		c.rest = append(c.rest[:0], c.rest[whole:]...)
	}
	return n, err
}

func (c *counting) done() Sum {
	c.sum.add(c.rest)
	return c.sum
}

// finish makes the indexes, compares the rows with the end of the backup, and makes the changes after it.
func (t *restoring) finish(ctx context.Context, end End, o Options) error {
	for _, table := range t.of.Tables {
		if err := t.same(table, end, t.sums[table.Name]); err != nil {
			return err
		}
		if _, err := t.tx.Exec(ctx, "alter table "+pgx.Identifier{table.Name}.Sanitize()+" enable trigger user"); err !=
			nil {
			return err
		}
	}
	for _, index := range t.indexes {
		if _, err := t.tx.Exec(ctx, index); err != nil {
			return err
		}
	}
	if o.Compare {
		for _, table := range t.of.Tables {
			sum, err := copyTable(ctx, t.tx, table, nil)
			if err == nil {
				err = t.same(table, end, sum)
			}
			if err != nil {
				return err
			}
		}
	}
	return t.change(ctx, t.of.Position, o)
}

// change makes the changes after the rows of the last position are there.
func (t *restoring) change(ctx context.Context, position int64, o Options) error {
	_, err := t.tx.Exec(ctx, `select setval(pg_get_serial_sequence('events', 'position'), $1)`, position+gap)
	if err != nil {
		return err
	}
	for _, change := range t.Restored {
		if change.Keys && o.KeepKeys {
			continue
		}
		tag, err := t.tx.Exec(ctx, change.SQL)
		if err != nil {
			return fmt.Errorf("%s: %w", change.What, err)
		}
		t.changed = append(t.changed, Change{t.Service, change.What, tag.RowsAffected()})
	}
	return nil
}

// same returns an error if a table's rows are not those of the backup.
func (t *restoring) same(table Table, end End, sum Sum) error {
	if want := end.Tables[t.Service+"/"+table.Name]; sum != want {
		return fmt.Errorf("the table %s differs from the backup: %d rows, and not %d, or other ones", table.Name,
			sum.Rows, want.Rows)
	}
	return nil
}
