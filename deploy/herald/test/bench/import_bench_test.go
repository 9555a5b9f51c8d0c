package bench_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/crypto/argon2"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres/local"
	"herald/shared/resource"
)

// insertMany is the least that an import of many users writes: the rows of insert, each with the digest of its fields.
// It writes nothing for a row that exists already.
const insertMany = `with event as (
	select u.*, nextval('events_position_seq') as position, now() as time
	from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
		u (event_id, id, user_name, email, hash, digest)
), created as (
	insert into users (id, org_id, type, state, user_name, user_name_folded, first_name, first_name_folded, last_name,
		last_name_folded, display_name, display_name_folded, email, email_folded, email_verified, password_hash,
		import_digest, sequence, created_at, changed_at)
	select id, $1, 1, 1, user_name, user_name, 'Mini', 'mini', 'Mouse', 'mouse', 'Mini Mouse', 'mini mouse', email,
		email, true, hash, digest::jsonb, position, time, time from event
	on conflict do nothing returning sequence as position
), recorded as (
	insert into events (position, id, aggregate, aggregate_id, history_id, name, organization_id, actor, data, time)
	overriding system value
	select e.position, e.event_id, 'human', e.id, e.id, 'imported', $1, 'bench',
		'{"state":"USER_STATE_ACTIVE","initMail":"INIT_MAIL_NOT_NEEDED"}', e.time
	from event e join created using (position)
), outboxed as (
	insert into outbox select position from created
) select count(*) from created`

// bareImport writes n users in statements of a thousand, two at a time.
func bareImport(b *testing.B, db *pgxpool.Pool, org string, n int) time.Duration {
	b.Helper()
	fields := map[string]string{}
	for _, path := range []string{"userName", "profile.firstName", "profile.lastName", "email.email",
		"email.isEmailVerified", "credential"} {
		fields[path] = strings.Repeat("5e", 16)
	}
	digest, err := json.Marshal(fields)
	check(b, err)
	begin := time.Now()
	parts := make(chan int)
	var writers sync.WaitGroup
	for range 2 {
		writers.Go(func() {
			for from := range parts {
				var columns [6][]string
				for i := from; i < min(from+1000, n); i++ {
					name := fmt.Sprintf("bare-%d-%d", begin.UnixNano(), i)
					user := []string{resource.NewID(), name, name, name + "@example.com", whole.Hash, string(digest)}
					for c, v := range user {
						columns[c] = append(columns[c], v)
					}
				}
				if _, err := db.Exec(context.Background(), insertMany, org, columns[0], columns[1], columns[2],
					columns[3], columns[4], columns[5]); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for from := 0; from < n; from += 1000 {
		parts <- from
	}
	close(parts)
	writers.Wait()
	return time.Since(begin)
}

// mover is an instance that people move into.
type mover struct {
	*testing.B
	*whole.Instance
	db  *pgx.Conn
	org string
}

func newMover(b *testing.B) mover {
	b.Helper()
	server := ownServer(b)
	s := whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_DATABASE_URL="+server.TCP())
	_, mine := s.Call("GET", "/management/v1/orgs/me", "")
	return mover{b, s, whole.Database(b, server, "users"), mine["org"].(map[string]any)["id"].(string)}
}

// file writes a bulk import of n people and returns it.
func (m mover) file(n int, person func() (name, body string)) *os.File {
	f, err := os.CreateTemp(m.TempDir(), "people")
	check(m.B, err)
	out := bufio.NewWriter(f)
	fmt.Fprintf(out, `{"timeout":"30m0s","dataOrgs":{"orgs":[{"orgId":%q,"humanUsers":[`, m.org)
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		name, data := person()
		fmt.Fprintf(out, `{"userId":%q,"user":%s}`, name, data)
	}
	out.WriteString(`]}]}}`)
	check(m.B, out.Flush())
	_, err = f.Seek(0, io.SeekStart)
	check(m.B, err)
	return f
}

// move imports a file of n people and returns how long that took.
func (m mover) move(file *os.File, n int) time.Duration {
	begin := time.Now()
	r, err := http.NewRequestWithContext(m.Context(), http.MethodPost, m.URL+"/admin/v1/import", file)
	check(m.B, err)
	r.Header.Set("Authorization", "Bearer "+m.Token)
	w, err := http.DefaultClient.Do(r)
	check(m.B, err)
	answer, err := io.ReadAll(w.Body)
	check(m.B, err)
	took := time.Since(begin)
	if done := bytes.Count(answer, []byte("user-")); w.StatusCode != http.StatusOK || done != n {
		m.Fatalf("%d of %d users: %d %.500s", done, n, w.StatusCode, answer)
	}
	return took
}

// published waits until no event waits for the relay.
func (m mover) published() {
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		var waiting bool
		check(m.B, m.db.QueryRow(m.Context(), "select exists (select from outbox)").Scan(&waiting))
		if !waiting {
			return
		}
	}
}

// rate returns how many users per second were written of the first or last n, by order of the sequence.
func (m mover) rate(n int, order string) float64 {
	var seconds float64
	check(m.B, m.db.QueryRow(m.Context(), `select extract(epoch from max(created_at) - min(created_at))::float8
		from (select created_at from users where id like 'user-%' order by sequence `+order+` limit $1) u`, n).
		Scan(&seconds))
	return float64(n) / seconds
}

func hashed() (name, body string) { return person(true) }

// plain returns the import of a new person with a password.
func plain() (name, body string) {
	name, body = person(true)
	return name, strings.Replace(body, fmt.Sprintf(`"hashedPassword":{"value":%q}`, whole.Hash),
		`"password":"correct horse battery"`, 1)
}

// BenchmarkImportUsers compares a bulk import with the bare SQL of the same rows before and after it. It holds
// the memory of the process, and the time until all events are published.
func BenchmarkImportUsers(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("BENCH_USERS"))
	if err != nil {
		n = 100_000
	}
	m := newMover(b)
	db, org := floorTables(b, ownServer(b))
	bareImport(b, db, org, 10_000) // warm
	file := m.file(n, hashed)
	bare := bareImport(b, db, org, n)
	begin := time.Now()
	took := m.move(file, n)
	m.published()
	published := time.Since(begin)
	bare = (bare + bareImport(b, db, org, n)) / 2
	rate, floor := float64(n)/took.Seconds(), float64(n)/bare.Seconds()
	peak := whole.PeakMemory(m.Cmd.Process.Pid)
	first, last := m.rate(n/10, "asc"), m.rate(n/10, "desc")
	fmt.Printf("import of %d users: %.0f/s, bare SQL %.0f/s, ratio %.0f %%, want 40 %%; the first tenth %.0f/s, the "+
		"last %.0f/s; published after %.2f times the import's time, want 2; peak %d MiB, want 256\n", n, rate, floor,
		100*rate/floor, first, last, published.Seconds()/took.Seconds(), peak>>20)
	b.ReportMetric(rate/floor, "ratio")
	b.ReportMetric(rate, "users/s")
	if rate < 0.4*floor || published > 2*took || peak > 256<<20 {
		fallsShort(b, "import of %d users: want 40 %% of the bare SQL, all published within twice the time,"+
			" and at most 256 MiB", n)
	}
	if n >= 1_000_000 && last < 0.8*first {
		fallsShort(b, "import: the last tenth takes more than a quarter longer than the first")
	}
}

// BenchmarkImportBesideMany measures imports of one person each while a bulk import runs.
func BenchmarkImportBesideMany(b *testing.B) {
	const n = 50_000
	m := newMover(b)
	file, one := m.file(n, hashed), imports(m.URL, m.Token, 1)
	var times []time.Duration
	var beside sync.WaitGroup
	ended := make(chan struct{})
	beside.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			begin := time.Now()
			if err := one(); err != nil {
				b.Error(err)
			}
			times = append(times, time.Since(begin))
		}
	})
	m.move(file, n)
	close(ended)
	beside.Wait()
	slices.Sort(times)
	p50, p99 := times[len(times)/2], times[len(times)*99/100]
	fmt.Printf("%d imports beside one of %d users: p50 %s, p99 %s, want 100 ms\n", len(times), n, short(p50),
		short(p99))
	b.ReportMetric(p99.Seconds(), "p99-s")
	if p99 > 100*time.Millisecond {
		fallsShort(b, "imports beside a bulk import: p99 is %s, want at most 100 ms", p99)
	}
}

// BenchmarkImportPasswords compares a bulk import of people with passwords with the hashing alone, on as many
// processors.
func BenchmarkImportPasswords(b *testing.B) {
	const n = 1000
	m := newMover(b)
	m.move(m.file(50, plain), 50) // warm
	file := m.file(n, plain)
	bare := bareHashes(n)
	took := m.move(file, n)
	bare = (bare + bareHashes(n)) / 2
	ratio := bare.Seconds() / took.Seconds()
	fmt.Printf("import of %d passwords: %.0f/s, bare hashes %.0f/s, ratio %.0f %%, want 90 %%\n", n,
		n/took.Seconds(), n/bare.Seconds(), 100*ratio)
	b.ReportMetric(ratio, "ratio")
	if ratio < 0.9 {
		fallsShort(b, "passwords reach %.0f %% of the bare hash, want 90 %%", 100*ratio)
	}
}

// bareHashes makes n hashes with the cost of new ones.
func bareHashes(n int) time.Duration {
	begin := time.Now()
	left := make(chan int)
	var workers sync.WaitGroup
	for range runtime.NumCPU() {
		workers.Go(func() {
			for range left {
				argon2.IDKey([]byte("correct horse battery"), make([]byte, 16), 2, 19456, 1, 32)
			}
		})
	}
	for i := range n {
		left <- i
	}
	close(left)
	workers.Wait()
	return time.Since(begin)
}

// BenchmarkUserChange compares changes of profiles with the floor.
func BenchmarkUserChange(b *testing.B) {
	const clients, n = 16, 1000
	m, floorURL := newMover(b), startFloor(b)
	var names []string
	m.move(m.file(n, func() (string, string) {
		name, body := hashed()
		names = append(names, name)
		return name, body
	}), n)
	var taken atomic.Int64
	client := newClient(clients)
	change := func() error {
		i := taken.Add(1)
		return client.send(http.MethodPut, m.URL+"/management/v1/users/"+names[i%n]+"/profile", m.Token,
			fmt.Sprintf(`{"firstName":"Mini %d","lastName":"Mouse"}`, i))
	}
	figure{"user change", clients, 0.55, change, imports(floorURL, "", clients)}.measure(b)
}

// ownServer starts a Postgres server that loses nothing in a crash. The servers of other tests may lose commits.
func ownServer(b *testing.B) *local.Server {
	b.Helper()
	server, err := local.Start(b.Context(), local.Options{Dir: whole.Dir(b) + "/postgres"})
	check(b, err)
	b.Cleanup(func() { _ = server.Stop(context.Background()) })
	return server
}
