package postgres_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/shared/postgres"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	const sql = `select @b || '@a' || @a || @b || case when array[@a] <@ array['x'] then ' -- @c' end /* @d */ as id`
	type row struct{ ID string }
	for range 2 { // the second time the translation is known
		got, err := postgres.One[row](t.Context(), pool, sql, postgres.Args{"a": "x", "b": "y"})
		if err != nil || got.ID != "y@axy -- @c" {
			t.Errorf("got %q, %v", got.ID, err)
		}
		for wrong, c := range map[string]struct {
			args postgres.Args
			says string
		}{
			"missing":    {postgres.Args{"a": "x"}, "b"},
			"none":       {nil, ""},
			"not used":   {postgres.Args{"a": "x", "b": "y", "more": 1}, "more"},
			"other name": {postgres.Args{"a": "x", "c": "y"}, ""},
		} {
			t.Run(wrong, func(t *testing.T) {
				if _, err := postgres.One[row](t.Context(), pool, sql, c.args); err == nil ||
					!strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
	if _, err := pool.Exec(t.Context(), `select @a`, postgres.Args{"a": "x"}, "y"); err == nil {
		t.Error("an argument without a name is taken")
	}
}

// Each statement of a batch has its own arguments. With one wrong argument none runs.
func TestArgsInBatch(t *testing.T) {
	t.Parallel()
	_, pool := database(t)
	if _, err := pool.Exec(t.Context(), `create table said (word text)`); err != nil {
		t.Fatal(err)
	}
	say := func(words ...postgres.Args) error {
		var b pgx.Batch
		for _, w := range words {
			b.Queue(`insert into said values (@word)`, w)
		}
		return pool.SendBatch(t.Context(), &b).Close()
	}
	if err := say(postgres.Args{"word": "a"}, postgres.Args{"word": "b"}); err != nil {
		t.Fatal(err)
	}
	if err := say(postgres.Args{"word": "c"}, postgres.Args{"werd": "d"}); err == nil {
		t.Error("an unknown name is taken")
	}
	var all string
	if err := pool.QueryRow(t.Context(), `select string_agg(word, '') from said`).Scan(&all); err != nil ||
		all != "ab" {
		t.Errorf("said %q, %v", all, err)
	}
}

// Compares names with numbers for a statement of 25 arguments, as many as the longest one has.
func BenchmarkArgs(b *testing.B) {
	_, pool := database(b)
	conn, err := pool.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(conn.Release)
	args, sql := postgres.Args{}, "select "+strings.Repeat("it is written out, ", 60)
	for i := range 25 {
		name := "argument_" + string(rune('a'+i))
		args[name], sql = i, sql+", @"+name
	}
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := args.RewriteQuery(b.Context(), conn.Conn(), sql, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("each time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := pgx.StrictNamedArgs(args).RewriteQuery(b.Context(), conn.Conn(), sql, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Compares the change of a row of 20 columns and its event with names and with numbers, in turns.
func BenchmarkChange(b *testing.B) {
	_, pool := database(b)
	const columns = 20
	var made, set string
	numbered := strings.NewReplacer("@id", "$1", "@actor", "$2", "@data", "$3")
	numbers := []any{"a", "somebody", "{}"}
	names := []string{"id", "actor", "data"}
	for i := range columns {
		name := "column_" + string(rune('a'+i))
		made, set = made+", "+name+" text", set+name+" = @"+name+", "
		names, numbers = append(names, name), append(numbers, strings.Repeat(name, 2))
	}
	named := `with event as (
			insert into events (id, actor, data) select @id, @actor, @data::jsonb returning position
		), outboxed as (
			insert into outbox select position from event
		), changed as (
			update objects set ` + set + ` sequence = position from event where objects.id = @id
		) select position from event`
	for _, sql := range []string{
		"create table events (position bigint generated always as identity primary key, id text, actor text, " +
			"data jsonb)",
		"create table outbox (position bigint primary key)",
		"create table objects (id text primary key, sequence bigint" + made + ")",
		"insert into objects (id) values ('a')",
	} {
		if _, err := pool.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	withNumbers := numbered.Replace(named)
	for i, name := range names[3:] {
		withNumbers = strings.ReplaceAll(withNumbers, "@"+name, "$"+strconv.Itoa(i+4))
	}
	run := func(sql string, args func() []any) (times []time.Duration) {
		for range 100 {
			start := time.Now()
			var position int64
			if err := pool.QueryRow(b.Context(), sql, args()...).Scan(&position); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(start))
		}
		return times
	}
	var byName, byNumber []time.Duration
	for b.Loop() {
		byName = append(byName, run(named, func() []any { // stores make the map for each change
			args := make(postgres.Args, len(names))
			for i, name := range names {
				args[name] = numbers[i]
			}
			return []any{args}
		})...)
		byNumber = append(byNumber, run(withNumbers, func() []any { return slices.Clone(numbers) })...)
	}
	for name, times := range map[string][]time.Duration{"named-µs": byName, "numbered-µs": byNumber} {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Nanoseconds())/1e3, name)
	}
	b.ReportMetric(0, "ns/op")
}
