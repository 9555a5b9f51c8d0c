package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"herald/shared/boot"
	"herald/shared/postgres"
	"herald/shared/retry"
)

// Source is the database of a service.
type Source struct {
	Service string
	DB      *pgxpool.Pool
}

// Write writes a backup of all databases as they are at one moment: what a service has handled of another one's events
// is in it together with these events. The services can run. They wait with their changes while that moment is taken,
// which is some milliseconds.
func Write(ctx context.Context, out io.Writer, h Header, sources []Source) (Header, End, error) {
	taken, err := cut(ctx, sources)
	defer func() {
		for _, s := range taken {
			_ = s.tx.Rollback(context.WithoutCancel(ctx))
		}
	}()
	if err != nil {
		return h, End{}, err
	}
	h.Format, h.Taken = format, time.Now().UTC()
	for _, s := range taken {
		described, err := describe(ctx, s)
		if err != nil {
			return h, End{}, fmt.Errorf("database of %s: %w", s.service, postgres.Fault(err))
		}
		h.Services = append(h.Services, described)
	}
	to := &archive{out: tar.NewWriter(out), at: h.Taken}
	if err := to.addJSON(headerName, h); err != nil {
		return h, End{}, err
	}
	end := End{Tables: map[string]Sum{}}
	var mu sync.Mutex
	all, ctx := errgroup.WithContext(ctx)
	for i, s := range taken {
		all.Go(func() error {
			for _, t := range h.Services[i].Tables {
				place := s.service + "/" + t.Name
				sum, err := copyTable(ctx, s.tx, t, func(n int, compressed []byte) error {
					return to.add(fmt.Sprintf("%s/%06d.gz", place, n), compressed)
				})
				if err != nil {
					return fmt.Errorf("table %s of %s: %w", t.Name, s.service, postgres.Fault(err))
				}
				mu.Lock()
				end.Tables[place] = sum
				mu.Unlock()
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return h, end, err
	}
	if err := to.addJSON(endName, end); err != nil {
		return h, end, err
	}
	return h, end, to.out.Close()
}

// snapshot is a transaction that sees a database as it was at the moment of the backup.
type snapshot struct {
	service string
	tx      pgx.Tx
}

const (
	// lockLimit is how long changes may wait for the moment of the backup.
	lockLimit = 3 * time.Second
	tries     = 5
	triesRest = 2 * time.Second
)

// cut returns snapshots of all databases at one moment. A long transaction, or a vacuum of the table, can prevent it.
func cut(ctx context.Context, sources []Source) (taken []snapshot, err error) {
	for try := 1; ; try++ {
		taken, err = tryCut(ctx, sources)
		if !postgres.IsLockTaken(err) || try == tries || !retry.Wait(ctx, triesRest) {
			return taken, err
		}
	}
}

// tryCut locks the outboxes of all services, into which each change with an event is written. Then it takes the
// snapshots. An event of which a service's snapshot has the effects was committed before all of them.
func tryCut(ctx context.Context, sources []Source) ([]snapshot, error) {
	locks := make([]pgx.Tx, len(sources))
	defer func() {
		for _, tx := range locks {
			if tx != nil {
				_ = tx.Rollback(context.WithoutCancel(ctx))
			}
		}
	}()
	all, locking := errgroup.WithContext(ctx)
	for i, s := range sources {
		all.Go(func() (err error) {
			if locks[i], err = s.DB.Begin(locking); err != nil {
				return fmt.Errorf("database of %s: %w", s.Service, postgres.Fault(err))
			}
			_, err = locks[i].Exec(locking, fmt.Sprintf(`set local lock_timeout = %d; lock table outbox in share mode`,
				lockLimit.Milliseconds()))
			if err != nil {
				return fmt.Errorf("database of %s: %w", s.Service, err)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	taken := make([]snapshot, 0, len(sources))
	for _, s := range sources {
		tx, err := s.DB.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err == nil {
			taken = append(taken, snapshot{s.Service, tx})
			_, err = tx.Exec(ctx, `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0;
				select pg_current_snapshot()`)
		}
		if err != nil {
			return taken, fmt.Errorf("database of %s: %w", s.Service, postgres.Fault(err))
		}
	}
	return taken, nil
}

// histories are the tables with the versions of the others. They are in the header.
var histories = []string{boot.EventHistory, boot.SchemaHistory}

func describe(ctx context.Context, s snapshot) (Service, error) {
	d := Service{Name: s.service}
	err := s.tx.QueryRow(ctx, `select (select version from event_version), (select version from schema_version),
		(select coalesce(max(position), 0) from events)`).Scan(&d.Events, &d.Schema, &d.Position)
	if err != nil {
		return d, err
	}
	d.Tables, err = tables(ctx, s.tx)
	return d, err
}

// tables returns the tables of a database, each after those to which its rows refer.
func tables(ctx context.Context, tx pgx.Tx) ([]Table, error) {
	found, _ := tx.Query(ctx, `with recursive refers (child, parent) as (
			select conrelid, confrelid from pg_constraint where contype = 'f' and conrelid <> confrelid
		), depth (id, steps) as (
			select oid, 0 from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
			union select child, steps + 1 from depth join refers on parent = id
		)
		select c.relname as name, (select array_agg(attname::text order by attnum) from pg_attribute
			where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
		from pg_class c join (select id, max(steps) as steps from depth group by id) d on d.id = c.oid
		where c.relname <> all ($1) order by d.steps, c.relname`, histories)
	return pgx.CollectRows(found, pgx.RowToStructByName[Table])
}

// copyTable reads a table and passes it on in chunks, whose numbers begin with 1. Without add it only returns the sum.
func copyTable(
	ctx context.Context, tx pgx.Tx, t Table, add func(n int, compressed []byte) error,
) (Sum, error) {
	to := chunks{add: add}
	_, err := tx.Conn().PgConn().CopyTo(ctx, &to, t.copySQL("to stdout"))
	if err == nil {
		err = to.flush()
	}
	return to.sum, err
}

func (t Table) copySQL(direction string) string {
	var columns []string
	for _, c := range t.Columns {
		columns = append(columns, pgx.Identifier{c}.Sanitize())
	}
	return "copy " + pgx.Identifier{t.Name}.Sanitize() + " (" + strings.Join(columns, ", ") + ") " + direction
}

// chunks compresses rows in pieces that begin and end with a whole row.
type chunks struct {
	add   func(n int, compressed []byte) error
	sum   Sum
	held  []byte
	n     int
	small bytes.Buffer
	zip   *gzip.Writer
}

// Write implements io.Writer.
func (c *chunks) Write(text []byte) (int, error) {
	c.held = append(c.held, text...)
	if len(c.held) < chunk || text[len(text)-1] != '\n' {
		return len(text), nil
	}
	return len(text), c.flush()
}

func (c *chunks) flush() error {
	if len(c.held) == 0 {
		return nil
	}
	c.sum.add(c.held)
	if c.add == nil {
		c.held = c.held[:0]
		return nil
	}
	c.small.Reset()
	if c.zip == nil {
		zip, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			return err
		}
		c.zip = zip
	}
	c.zip.Reset(&c.small)
	if _, err := c.zip.Write(c.held); err != nil {
		return err
	}
	if err := c.zip.Close(); err != nil {
		return err
	}
	c.n++
	c.held = c.held[:0]
	return c.add(c.n, c.small.Bytes())
}
