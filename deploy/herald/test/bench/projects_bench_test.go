package bench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres/local"
)

// The numbers of projects in the smaller and in the larger measurement.
const (
	someProjects = 10_000
	allProjects  = 1_000_000
	applications = 100_000
)

// archive is an instance with many projects in one organization, and its database.
type archive struct {
	*testing.B
	*whole.Instance
	db  *pgxpool.Pool
	org string
	// taken counts the projects and applications that were changed.
	taken atomic.Int64
}

// BenchmarkProjects compares searches among a million projects with the same count and page in SQL, and
// with the same matches among few, and changes with the floor.
func BenchmarkProjects(b *testing.B) {
	a := newArchive(b)
	a.fill(1, someProjects)
	a.fill(someProjects+1, allProjects)
	b.Run("flat", a.flat)
	for _, q := range questions {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("search/%s/%s/%d", q.method, q.text, clients), func(b *testing.B) {
				a.compare(b, q, clients)
			})
		}
	}
	a.changes(startFloor(b))
}

func newArchive(b *testing.B) *archive {
	b.Helper()
	server, err := local.Start(b.Context(), local.Options{Dir: whole.Dir(b) + "/postgres"})
	check(b, err)
	b.Cleanup(func() { _ = server.Stop(context.Background()) })
	a := &archive{B: b, Instance: whole.New(b, "HERALD_LOG_LEVEL=WARN", "HERALD_DATABASE_URL="+server.URL())}
	a.Start()
	a.db = pool(b, server.URL(), "projects")
	check(b, pool(b, server.URL(), "users").QueryRow(b.Context(), "select id from organizations").Scan(&a.org))
	return a
}

// names is SQL for names of a brand, a kind and twelve random letters. 20 of the first 10,000
// projects have letters that others lack.
const names = `(array['Alpha', 'Beta', 'Gamma', 'Delta', 'Omega'])[1 + i % 5] || ' ' ||
	(array['Shop', 'Portal', 'Billing', 'Mobile'])[1 + i / 5 % 4] || ' ' ||
	case when i <= 10000 and i % 500 = 2 then 'hnodek' || chr(97 + i / 500) || 'kpfadm'
		else translate(substr(md5(i::text), 1, 12), '0123456789', 'ghijklmnop') end`

// fill inserts the projects with these numbers, and their applications. It drops the indexes of parts
// of names and makes them afterwards, because updating them for each row takes most of the time.
func (a *archive) fill(from, to int) {
	rows, err := a.db.Query(a.Context(), `select indexdef from pg_indexes where indexname ~ '^projects_by_(part|end)'`)
	check(a.B, err)
	indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	check(a.B, err)
	conn, err := a.db.Acquire(a.Context())
	check(a.B, err)
	defer conn.Release()
	for _, sql := range append([]string{
		"set statement_timeout = 0", "set maintenance_work_mem = '512MB'",
		"drop index projects_by_part_of_name", "drop index projects_by_part_of_name_folded",
		"drop index projects_by_end_of_name", "drop index projects_by_end_of_name_folded",
		fmt.Sprintf(`insert into projects (id, org_id, name, name_folded, state, project_role_assertion,
			project_role_check, has_project_check,
				private_labeling_setting, sequence, created_at, changed_at)
			select 'p' || i, '%s', name, lower(name), 1, false, false, false, 0, 0,
			'2026-01-01Z'::timestamptz + i * interval '1 s', now()
			from (select i, %s as name from generate_series(%d, %d) i) made`, a.org, names, from, to),
		fmt.Sprintf(`insert into applications (id, project_id, org_id, name, name_folded, state, api_config, sequence,
			created_at, changed_at)
			select 'a' || i, 'p' || i, '%s', 'App', 'app', 1, '{}', 0, now(), now() from generate_series(%d, %d) i`,
			a.org, from, min(to, applications)),
	}, append(indexes, "vacuum analyze projects", "vacuum analyze applications", "reset all")...) {
		_, err := conn.Exec(a.Context(), sql)
		check(a.B, err)
	}
}

// question is a text by which projects are searched.
type question struct {
	method string
	text   string
	// few reports that few projects match. Then SQL is fastest if it finds all before it sorts,
	// otherwise if it reads from the newest to the oldest.
	few bool
}

var (
	fewest = []question{
		{"EQUALS", "Gamma Shop hnodekbkpfadm", true}, {"EQUALS_IGNORE_CASE", "GAMMA Shop hnodekbkpfadm", true},
		{"STARTS_WITH", "Gamma Shop hnodek", true}, {"STARTS_WITH_IGNORE_CASE", "GAMMA Shop hnodek", true},
		{"CONTAINS", "hnodek", true}, {"CONTAINS_IGNORE_CASE", "HNODEK", true},
		{"ENDS_WITH", "kpfadm", true}, {"ENDS_WITH_IGNORE_CASE", "KPFADM", true},
	}
	questions = append(fewest[:len(fewest):len(fewest)], []question{
		{"STARTS_WITH", "Gamma Shop a", true}, {"STARTS_WITH_IGNORE_CASE", "gamma shop A", true},
		{"CONTAINS", "abc", true}, {"CONTAINS_IGNORE_CASE", "ABC", true},
		{"ENDS_WITH", "ab", true}, {"ENDS_WITH_IGNORE_CASE", "AB", true},
		{"STARTS_WITH", "Gamma", false}, {"CONTAINS", "Shop", false}, {"ENDS_WITH", "a", false},
	}...)
)

func (q question) body() string {
	return fmt.Sprintf(`{"query":{"limit":50},"queries":[{"nameQuery":{"name":%q,"method":"TEXT_QUERY_METHOD_%s"}}]}`,
		q.text, q.method)
}

// condition returns the question in SQL, with literals, so that it is planned once.
func (q question) condition() string {
	column, text := "name", q.text
	method, folded := strings.CutSuffix(q.method, "_IGNORE_CASE")
	if folded {
		column, text = "name_folded", strings.ToLower(text)
	}
	return fmt.Sprintf(map[string]string{"EQUALS": "%s = '%s'", "STARTS_WITH": "%s like '%s%%'",
		"CONTAINS": "%s like '%%%s%%'", "ENDS_WITH": "reverse(%s) like reverse('%s') || '%%'"}[method], column, text)
}

// asked returns a step that asks the gateway.
func (a *archive) asked(q question, clients int) func() error {
	client, body := newClient(clients), q.body()
	return func() error {
		return client.send(http.MethodPost, a.URL+"/management/v1/projects/_search", a.Token, body)
	}
}

// bare returns a step that asks Postgres directly.
func (a *archive) bare(q question) func() error {
	from := fmt.Sprintf(`from projects where org_id = '%s' and %s`, a.org, q.condition())
	page := `select * ` + from + ` order by created_at desc, id desc limit 50`
	if q.few {
		page = `with found as materialized (select * ` + from + `) select * from found order by created_at desc, id ` +
			`desc limit 50`
	}
	return func() error {
		var b pgx.Batch
		b.Queue(`select count(*) ` + from)
		b.Queue(page)
		return a.db.SendBatch(a.Context(), &b).Close()
	}
}

// total returns the number of matches.
func (a *archive) total(q question) string {
	_, answer := a.Call(http.MethodPost, "/management/v1/projects/_search", q.body())
	details, _ := answer["details"].(map[string]any)
	total, _ := details["totalResult"].(string)
	return total
}

// hop returns a step that makes the cheapest call through the gateway.
func (a *archive) hop(clients int) func() error {
	client := newClient(clients)
	return func() error { return client.send(http.MethodGet, a.URL+"/admin/v1/languages", a.Token, "") }
}

func (a *archive) compare(b *testing.B, q question, clients int) {
	const each = 100 * time.Millisecond
	rounds := 20
	if !q.few {
		rounds = 2 // one of these takes up to seconds
	}
	t := inTurns(b, clients, rounds, each, a.asked(q, clients), a.bare(q), a.hop(clients))
	asked, bare, hop := t[0], t[1], t[2]
	limit := 2*bare.p99 + hop.p99
	fmt.Printf("projects, %2d clients, %-23s %-25q %7s matches: p50 %8s p99 %8s, SQL p50 %8s p99 %8s, "+
		"hop p50 %8s p99 %8s, p99 is %3.0f %% of its limit\n", clients, q.method, q.text, a.total(q),
		short(asked.p50), short(asked.p99), short(bare.p50), short(bare.p99), short(hop.p50), short(hop.p99),
		100*float64(asked.p99)/float64(limit))
	if q.few && asked.p99 > limit {
		fallsShort(b, "%s %q at %d clients: p99 is %s, want at most %s: twice that of SQL, and a hop",
			q.method, q.text, clients, asked.p99, limit)
	}
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// flat compares searches with those of another instance that has the same matches among few projects.
func (a *archive) flat(b *testing.B) {
	const rounds, each = 20, 100 * time.Millisecond
	few := newArchive(b)
	few.fill(1, someProjects)
	for _, q := range fewest {
		t := inTurns(b, 1, rounds, each, few.asked(q, 1), a.asked(q, 1))
		small, large := t[0].p50, t[1].p50
		growth := float64(large)/float64(small) - 1
		fmt.Printf("projects, %-23s %s matches: p50 %s among %d, %s among %d: %+.0f %%\n", q.method, a.total(q),
			short(small), someProjects, short(large), allProjects, 100*growth)
		if strings.HasPrefix(q.method, "CONTAINS") && growth > 0.2 {
			fallsShort(b, "%s takes %.0f %% longer among %d projects, want 20 %%", q.method, 100*growth, allProjects)
		}
	}
}

// changes compares changes of projects, each of which is changed once, with the floor.
func (a *archive) changes(floorURL string) {
	const clients = 16
	client, floored := newClient(clients), imports(floorURL, "", clients)
	do := func(method, path, body string) error {
		return client.send(method, a.URL+"/management/v1/projects"+path, a.Token, body)
	}
	name := func(n int64) string {
		body, _ := json.Marshal(map[string]string{"name": fmt.Sprintf("Made %d", n)})
		return string(body)
	}
	for _, c := range []struct {
		change string
		step   func() error
	}{
		{"update", func() error { n := a.taken.Add(1); return do(http.MethodPut, fmt.Sprintf("/p%d", n), name(n)) }},
		{"deactivate", func() error {
			return do(http.MethodPost, fmt.Sprintf("/p%d/_deactivate", a.taken.Add(1)), "{}")
		}},
		{"deactivate application", func() error {
			n := a.taken.Add(1)
			return do(http.MethodPost, fmt.Sprintf("/p%d/apps/a%d/_deactivate", n, n), "{}")
		}},
		{"create", func() error { return do(http.MethodPost, "", name(a.taken.Add(1))) }},
	} {
		figure{"project " + c.change, clients, 0.6, c.step, floored}.measure(a.B)
	}
}
