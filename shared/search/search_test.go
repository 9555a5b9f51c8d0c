package search_test

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
	"herald/shared/testkit"
)

var texts fs.FS = fstest.MapFS{"migrations/001_texts.sql": {Data: []byte(`
	create table texts (
		id text collate "C" primary key,
		body text collate "C" not null,
		body_folded text collate "C" not null,
		created_at timestamptz not null default '2026-01-02T03:04:05Z'
	)`)}}

var kit = testkit.New("users", texts)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

type text struct {
	ID, Body  string
	CreatedAt time.Time
}

// world is a database with texts.
type world struct {
	testing.TB
	db *pgxpool.Pool
}

func newWorld(t testing.TB) world {
	t.Helper()
	return world{t, kit.Pool(t)}
}

func (w world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

func (w world) add(id, body string) {
	w.Helper()
	w.exec(`insert into texts (id, body, body_folded) values ($1, $2, $3)`, id, body, search.Fold(body))
}

func among() *search.Query { return search.Select("id, body, created_at", "texts", "created_at, id") }

func (w world) read(s *search.Query, p search.Page) search.List[text] {
	w.Helper()
	list, err := search.Read[text](w.Context(), w.db, s, p)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

func ids(l search.List[text]) (found []string) {
	for _, row := range l.Rows {
		found = append(found, row.ID)
	}
	return found
}

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		query   *heraldv1.ListQuery
		max     int64
		want    search.Page
		refused *fault.Fault
	}{
		{"nothing asked", nil, 1000, search.Page{Limit: 1000}, nil},
		{"empty query", &heraldv1.ListQuery{}, 1000, search.Page{Limit: 1000}, nil},
		{"lower maximum", &heraldv1.ListQuery{}, 50, search.Page{Limit: 50}, nil},
		{"higher maximum", &heraldv1.ListQuery{}, 5000, search.Page{Limit: 1000}, nil},
		{"all given", &heraldv1.ListQuery{Offset: 7, Limit: 3, Asc: true}, 1000,
			search.Page{Offset: 7, Limit: 3, Asc: true}, nil},
		{"the maximum", &heraldv1.ListQuery{Limit: 50}, 50, search.Page{Limit: 50}, nil},
		{"above it", &heraldv1.ListQuery{Limit: 51}, 50, search.Page{}, fault.ErrLimitExceeded},
		{"largest limit", &heraldv1.ListQuery{Limit: math.MaxInt64}, 1000, search.Page{}, fault.ErrLimitExceeded},
		{"negative", &heraldv1.ListQuery{Limit: -1}, 1000, search.Page{}, fault.ErrInvalidArgument},
		{"most negative", &heraldv1.ListQuery{Limit: math.MinInt64}, 1000, search.Page{}, fault.ErrInvalidArgument},
		{"offset of more than an int64", &heraldv1.ListQuery{Offset: math.MaxUint64, Limit: 1}, 1000,
			search.Page{Offset: 1 << 62, Limit: 1}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := search.Bounds(c.query, c.max)
			if c.refused == nil {
				if err != nil || got != c.want {
					t.Errorf("%+v, %v, want %+v", got, err, c.want)
				}
				return
			}
			f := fault.From(err)
			if f.ID != c.refused.ID || f.HTTPStatus() != 400 || len(f.Fields) != 1 ||
				f.Fields[0].Path != "query.limit" {
				t.Errorf("%#v, want %s on query.limit", f, c.refused.ID)
			}
		})
	}
}

func TestLimitFaultNamesTheMaximum(t *testing.T) {
	t.Parallel()
	_, err := search.Bounds(&heraldv1.ListQuery{Limit: 43}, 42)
	f := fault.From(err)
	if f.Message != "query.limit: the maximum is 42" || f.Fields[0].Reason != "the maximum is 42" {
		t.Errorf("%+v", f)
	}
}

// Rows with the same time are ordered by id. The total includes rows of other pages.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range []string{"c", "a", "e", "b", "d"} {
		w.add(id, "same")
	}
	w.exec(`update texts set created_at = '2026-01-01Z' where id = 'e'`)
	for _, c := range []struct {
		name string
		page search.Page
		want []string
	}{
		{"newest first", search.Page{Limit: 9}, []string{"d", "c", "b", "a", "e"}},
		{"oldest first", search.Page{Limit: 9, Asc: true}, []string{"e", "a", "b", "c", "d"}},
		{"middle", search.Page{Offset: 1, Limit: 2, Asc: true}, []string{"a", "b"}},
		{"last, cut", search.Page{Offset: 4, Limit: 2}, []string{"e"}},
		{"just past the end", search.Page{Offset: 5, Limit: 2}, nil},
		{"far past the end", search.Page{Offset: 1 << 62, Limit: 1000}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := w.read(among(), c.page); !slices.Equal(ids(got), c.want) || got.Total != 5 {
				t.Errorf("%v of %d, want %v of 5", ids(got), got.Total, c.want)
			}
		})
	}
	last, err := search.Bounds(&heraldv1.ListQuery{Offset: math.MaxUint64}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(among().Where("id <> ?", "e"), last); len(got.Rows) != 0 || got.Total != 4 {
		t.Errorf("offset 2^64-1: %v of %d", got.Rows, got.Total)
	}
}

// Conditions are joined by and, and each takes its own arguments.
func TestConditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 12 {
		w.add(fmt.Sprintf("%02d", i), fmt.Sprint("body ", i%3))
	}
	all := search.Page{Limit: 100, Asc: true}
	s := among().Where("id between ? and ?", "02", "10").Where("body <> ?", "body 1").Where("true").
		Where("id = any (?)", []string{"00", "02", "03", "04", "09"})
	if got := ids(w.read(s, all)); !slices.Equal(got, []string{"02", "03", "09"}) {
		t.Errorf("%v", got)
	}
	if got := ids(w.read(s, all)); !slices.Equal(got, []string{"02", "03", "09"}) {
		t.Errorf("the second reading: %v", got)
	}
	if n := w.db.Stat().NewConnsCount(); n != 1 {
		t.Errorf("one reading after the other took %d connections", n)
	}
}

// Before the first event a list is as old as the service.
func TestHistoryBesideAList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var start time.Time
	if err := w.db.QueryRow(t.Context(), `select time from first_start`).Scan(&start); err != nil {
		t.Fatal(err)
	}
	if got := w.read(among(), search.Page{Limit: 1}); got.Processed != 0 || !got.At.Equal(start) || got.Total != 0 {
		t.Errorf("before the first event: %+v, want the start at %v", got, start)
	}
	at := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	w.event(at.Add(time.Hour))
	w.event(at)
	got := w.read(among(), search.Page{Limit: 1}).Details()
	want := &heraldv1.ListDetails{ProcessedSequence: 2, ViewTimestamp: timestamppb.New(at)}
	if !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func (w world) event(at time.Time) {
	w.Helper()
	w.exec(`insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time) `+
		`values ('', '', '', '', '', '', '', '{}', $1)`, at)
}

// The totals of a list are consistent with its rows, also while rows are written.
func TestListsAreOfOneMoment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const changes = 400
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range changes {
			_, err := w.db.Exec(w.Context(), `with event as (
				insert into events (id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time) 
					values ('', '', '', '', '', '', '', '{}', now())
			) insert into texts (id, body, body_folded) values ($1, '', '')`, fmt.Sprint(i))
			if err != nil {
				w.Error(err)
				return
			}
		}
	})
	defer writer.Wait()
	for n := 0; n < changes; {
		got, err := search.Read[text](w.Context(), w.db, among(), search.Page{Limit: changes})
		if err != nil {
			t.Fatal(err)
		}
		if n = len(got.Rows); got.Total != uint64(n) || got.Processed != uint64(n) {
			t.Fatalf("%d rows, total %d, history up to %d", n, got.Total, got.Processed)
		}
		if t.Failed() {
			return
		}
	}
}

// A search that fails leaves the pool usable and says which table it was on.
func TestFailedSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("a", "x")
	for range 20 { // more than the pool has connections
		_, err := search.Read[text](w.Context(), w.db, among().Where("body = ?", "NUL \x00"), search.Page{Limit: 1})
		if f := fault.From(err); f.Code != fault.Invalid {
			t.Fatalf("NUL: %v", err)
		}
	}
	if got := w.read(among(), search.Page{Limit: 1}); got.Total != 1 {
		t.Errorf("afterwards: %+v", got)
	}
	if _, err := search.Read[text](w.Context(), w.db, search.Select("id", "nowhere", "id"),
		search.Page{Limit: 1}); fault.From(err).Code != fault.Internal {
		t.Errorf("no such table: %v", err)
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	created, changed := time.Unix(1, 0), time.Unix(2, 5)
	r := resource.Record{Sequence: 7, CreatedAt: created, ChangedAt: changed}
	want := &heraldv1.ObjectDetails{Sequence: 7, ChangeDate: timestamppb.New(changed), ResourceOwner: "o"}
	if got := resource.Changed(r, "o"); !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	want.CreationDate = timestamppb.New(created)
	if got := resource.Details(r, "o"); !proto.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A text with many matches is found by another statement, with the same result.
func TestManyMatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`insert into texts (id, body, body_folded, created_at)
		select lpad(n::text, 4, '0'), 'a' || n % 7, 'a' || n % 7, '2026-01-01Z'::timestamptz + n % 100 * interval '1 s'
		from generate_series(0, 5999) n`)
	for _, c := range []struct {
		contains string
		total    uint64
	}{{"a", 6000}, {"a1", 857}} {
		for _, p := range []search.Page{{Limit: 1000}, {Limit: 70, Offset: 30, Asc: true}} {
			got := w.read(among().Text(body, heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_CONTAINS, c.contains), p)
			direction := "desc"
			if p.Asc {
				direction = "asc"
			}
			rows, err := w.db.Query(t.Context(), fmt.Sprintf(`select id from texts where position($1 in body) > 0
				order by created_at %[1]s, id %[1]s limit $2 offset $3`, direction), c.contains,
				p.Limit, int64(p.Offset))
			if err != nil {
				t.Fatal(err)
			}
			want, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(ids(got), want) || got.Total != c.total {
				t.Errorf("%q, %+v: %d of %d, %v", c.contains, p, len(got.Rows), got.Total, ids(got)[:3])
			}
		}
	}
}
