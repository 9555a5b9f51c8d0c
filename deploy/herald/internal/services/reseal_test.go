package services

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/secret"
	"herald/shared/testkit"
)

var kit = testkit.New("sealed", fstest.MapFS{"migrations/001_boxes.sql": {Data: []byte(
	`create table boxes (id text collate "C" primary key, "Content" bytea, changes int not null default 0)`)}})

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// content is a column whose name must be quoted in SQL.
var content = secret.Column{Table: "boxes", Name: "Content", Key: "id"}

// world is a database with boxes that the old key has sealed.
type world struct {
	*testing.T
	db              *pgxpool.Pool
	old, both, next secret.Keys
}

const boxes = 450

func newWorld(t *testing.T) *world {
	t.Helper()
	old, fresh := secret.NewKeyText(), secret.NewKeyText()
	w := &world{t, kit.Pool(t), parse(t, old), parse(t, fresh+old), parse(t, fresh)}
	for i := range boxes {
		w.put(w.old, i)
	}
	return w
}

func parse(t *testing.T, text string) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func id(i int) string { return fmt.Sprintf("box-%d", i) }

func plain(i int) string { return fmt.Sprintf("secret of %d", i) }

func (w *world) put(k secret.Keys, i int) {
	w.Helper()
	w.exec(`insert into boxes (id, "Content") values ($1, $2) on conflict (id) do update
		set "Content" = excluded."Content", changes = boxes.changes + 1`,
		id(i), k.Seal([]byte(plain(i)), content, id(i)))
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Exec(context.WithoutCancel(w.Context()), sql, args...); err != nil {
		w.Error(err)
	}
}

func (w *world) reseal(k secret.Keys) (n int64, err error) {
	err = Reseal(w.Context(), w.db, k, content, func(done int64) { n += done })
	return n, err
}

func (w *world) count() map[secret.KeyID]int64 {
	w.Helper()
	counts, err := CountSealed(w.Context(), w.db, content)
	if err != nil {
		w.Fatal(err)
	}
	return counts
}

// allWith fails the test unless one key has sealed every box, and the contents are the same as
// before.
func (w *world) allWith(k secret.Keys) {
	w.Helper()
	if counts := w.count(); len(counts) != 1 || counts[k.IDs()[0]] != boxes {
		w.Errorf("counts %v", counts)
	}
	for i := range boxes {
		var value []byte
		if err := w.db.QueryRow(w.Context(), `select "Content" from boxes where id = $1`,
			id(i)).Scan(&value); err != nil {
			w.Fatal(err)
		}
		if got, err := k.Open(value, content, id(i)); err != nil || string(got) != plain(i) {
			w.Errorf("box %d: %q, %v", i, got, err)
		}
	}
}

func TestReseal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`insert into boxes (id) values ('empty')`)
	if err := check(t.Context(), w.db, w.next, []secret.Column{content}); err == nil ||
		!strings.Contains(err.Error(), w.old.IDs()[0].String()) || !strings.Contains(err.Error(), "boxes.Content") ||
		!strings.Contains(err.Error(), "450") {
		t.Errorf("without the old key: %v", err)
	}
	if err := check(t.Context(), w.db, w.both, []secret.Column{content}); err != nil {
		t.Error(err)
	}
	if n, err := w.reseal(w.both); n != boxes || err != nil {
		t.Errorf("%d sealed anew, %v", n, err)
	}
	w.allWith(w.next)
	if err := check(t.Context(), w.db, w.next, []secret.Column{content}); err != nil {
		t.Error(err)
	}
	if n, err := w.reseal(w.both); n != 0 || err != nil {
		t.Errorf("again: %d sealed anew, %v", n, err)
	}
}

// After a stop the next run seals the secrets that are left.
func TestResealStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	first := int64(0)
	err := Reseal(ctx, w.db, w.both, content, func(n int64) {
		first += n
		stop()
	})
	if !errors.Is(err, context.Canceled) || first == 0 || first == boxes {
		t.Fatalf("%d, %v", first, err)
	}
	if counts := w.count(); counts[w.next.IDs()[0]] != first || counts[w.old.IDs()[0]] != boxes-first {
		t.Errorf("counts %v after %d", counts, first)
	}
	if n, err := w.reseal(w.both); n != boxes-first || err != nil {
		t.Errorf("%d more, %v", n, err)
	}
	w.allWith(w.next)
}

// Two rotations run at once while services with the keys in either order change boxes. No change is
// lost. One more rotation seals what a service has sealed with the old key after they had passed.
func TestResealUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	turned := parse(t, w.old.Text().Reveal()+w.next.Text().Reveal())
	var rotations, changes sync.WaitGroup
	stop := make(chan struct{})
	made := make([]int, 2)
	for n, k := range []secret.Keys{w.both, turned} {
		changes.Go(func() {
			for i := n; ; i = (i + 2) % boxes {
				select {
				case <-stop:
					return
				default:
					w.put(k, i)
					made[n]++
				}
			}
		})
	}
	for range 2 {
		rotations.Go(func() {
			if _, err := w.reseal(w.both); err != nil {
				t.Error(err)
			}
		})
	}
	for made := int64(0); made < boxes; {
		if err := w.db.QueryRow(t.Context(), `select sum(changes) from boxes`).Scan(&made); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	changes.Wait()
	rotations.Wait()
	if _, err := w.reseal(w.both); err != nil {
		t.Error(err)
	}
	w.allWith(w.next)
	var changed int
	if err := w.db.QueryRow(t.Context(), `select sum(changes) from boxes`).Scan(&changed); err != nil ||
		changed != made[0]+made[1] {
		t.Errorf("%d of %d changes are there: %v", changed, made[0]+made[1], err)
	}
}

// A change between the reading and the writing of a batch is not overwritten.
func TestResealLosesToChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tx, err := w.db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	other := w.next.Seal([]byte("changed"), content, id(0))
	if _, err := tx.Exec(t.Context(), `update boxes set "Content" = $1 where id = $2`, other, id(0)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := w.reseal(w.both)
		ended <- err
	}()
	for waiting := false; !waiting; { // until it waits for the lock of the row
		if err := w.db.QueryRow(t.Context(), `select exists (select from pg_locks where not granted and pid in
			(select pid from pg_stat_activity where datname = current_database()))`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var value []byte
	if err := w.db.QueryRow(t.Context(), `select "Content" from boxes where id = $1`, id(0)).Scan(&value); err != nil {
		t.Fatal(err)
	}
	if got, err := w.next.Open(value, content, id(0)); err != nil || string(got) != "changed" {
		t.Errorf("%q, %v", got, err)
	}
}

// Secrets of a missing key, of another row and cut ones are left as they are and cause an error.
// All others are resealed.
func TestResealWithoutKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(parse(t, secret.NewKeyText()), 7)
	w.exec(`update boxes set "Content" = (select "Content" from boxes where id = $1) where id = $2`, id(1), id(300))
	w.exec(`update boxes set "Content" = 'short' where id = $1`, id(400))
	var before, after string
	bad := `select string_agg(md5("Content"), ' ' order by id) from boxes where id = any ($1)`
	ids := []string{id(7), id(300), id(400)}
	if err := w.db.QueryRow(t.Context(), bad, ids).Scan(&before); err != nil {
		t.Fatal(err)
	}
	n, err := w.reseal(w.both)
	if n != boxes-3 || err == nil || !strings.Contains(err.Error(), "3 secrets in boxes.Content") {
		t.Errorf("%d, %v", n, err)
	}
	if err := w.db.QueryRow(t.Context(), bad, ids).Scan(&after); err != nil || after != before {
		t.Errorf("they were changed: %v", err)
	}
	if err := check(t.Context(), w.db, w.both, []secret.Column{content}); err == nil {
		t.Error("a key is missing, and nobody says so")
	}
}
