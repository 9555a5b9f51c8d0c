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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/deploy/herald/test/whole"
	"herald/shared/id"
	"herald/shared/postgres/local"
)

// insertMany is what an import of many users writes at the least: the rows of insert, each
// with the digest of its fields, and nothing where one is there already.
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
					user := []string{id.New(), name, name, name + "@example.com", whole.Hash, string(digest)}
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

// people writes a bulk import of n users who need no mail.
func people(w io.Writer, org string, n int) {
	out := bufio.NewWriter(w)
	defer out.Flush()
	fmt.Fprintf(out, `{"timeout":"30m0s","dataOrgs":{"orgs":[{"orgId":%q,"humanUsers":[`, org)
	for i := range n {
		if i > 0 {
			out.WriteByte(',')
		}
		name, data := person(true)
		fmt.Fprintf(out, `{"userId":%q,"user":%s}`, name, data)
	}
	out.WriteString(`]}]}}`)
}

// BenchmarkImportUsers compares a bulk import with the bare SQL of the same rows, and holds the
// memory of the process and the time until all events are published.
func BenchmarkImportUsers(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("BENCH_USERS"))
	if err != nil {
		n = 100_000
	}
	server, other := ownServer(b), ownServer(b)
	s := whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_DATABASE_URL="+server.TCP())
	_, mine := s.Call("GET", "/management/v1/orgs/me", "")
	home := mine["org"].(map[string]any)["id"].(string)
	db, org := floorTables(b, other)
	bareImport(b, db, org, 10_000) // warm
	file, err := os.CreateTemp(b.TempDir(), "people")
	check(b, err)
	people(file, home, n)
	bare := bareImport(b, db, org, n)
	_, err = file.Seek(0, io.SeekStart)
	check(b, err)
	begin := time.Now()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, s.URL+"/admin/v1/import", file)
	check(b, err)
	r.Header.Set("Authorization", "Bearer "+s.Token)
	w, err := http.DefaultClient.Do(r)
	check(b, err)
	answer, err := io.ReadAll(w.Body)
	check(b, err)
	took := time.Since(begin)
	if done := bytes.Count(answer, []byte("user-")); w.StatusCode != http.StatusOK || done != n {
		b.Fatalf("%d of %d users: %d %.500s", done, n, w.StatusCode, answer)
	}
	var published time.Time
	admin := whole.Database(b, server, "users")
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		var waiting bool
		check(b, admin.QueryRow(b.Context(), "select exists (select from outbox)").Scan(&waiting))
		if !waiting {
			published = time.Now()
			break
		}
	}
	rate, floor := float64(n)/took.Seconds(), float64(n)/bare.Seconds()
	peak := peakMemory(b, s.Cmd.Process.Pid)
	fmt.Printf("import of %d users: %.0f/s, bare SQL %.0f/s, ratio %.0f %%, want 40 %%; published after %.2f times "+
		"the import's time, want 2; peak %d MiB, want 256\n", n, rate, floor, 100*rate/floor,
		published.Sub(begin).Seconds()/took.Seconds(), peak>>20)
	b.ReportMetric(rate/floor, "ratio")
	b.ReportMetric(rate, "users/s")
	if rate < 0.4*floor || published.Sub(begin) > 2*took || peak > 256<<20 {
		b.Error("want 40 % of the bare SQL, all published within twice the time, and at most 256 MiB")
	}
}

// ownServer starts a server that keeps its promises, other than those of tests.
func ownServer(b *testing.B) *local.Server {
	b.Helper()
	server, err := local.Start(b.Context(), local.Options{Dir: whole.Dir(b) + "/postgres"})
	check(b, err)
	b.Cleanup(func() { _ = server.Stop(context.Background()) })
	return server
}

// peakMemory is the largest resident set that a process had, in bytes.
func peakMemory(b *testing.B, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(b, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.Fields(value)[0])
			check(b, err)
			return kib << 10
		}
	}
	b.Fatal("no VmHWM")
	return 0
}
