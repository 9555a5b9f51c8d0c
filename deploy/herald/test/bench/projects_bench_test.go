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

// BenchmarkProjects compares searches among a million projects with the same count and page in SQL,
// and changes with the floor.
func BenchmarkProjects(b *testing.B) {
	a := newArchive(b)
	a.fill(1, someProjects)
	small := a.fewMatches()
	a.fill(someProjects+1, allProjects)
	hops := map[int]times{}
	for _, clients := range []int{1, 16} {
		hops[clients] = a.hop(clients)
		fmt.Printf("projects, %2d clients, a hop: p50 %s p99 %s\n", clients, hops[clients].p50, hops[clients].p99)
	}
	a.flat(small, a.fewMatches())
	for _, q := range questions {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("search/%s/%s/%d", q.method, q.text, clients), func(b *testing.B) {
				a.compare(b, q, clients, hops[clients])
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

// question is a text for which projects are searched.
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

type times struct{ p50, p99 time.Duration }

// best runs steps alternately, so that noise affects all, and returns the lowest times of each.
func best(b *testing.B, clients int, steps ...func() error) []times {
	b.Helper()
	const rounds, each = 2, time.Second
	all := make([]times, len(steps))
	for round := range rounds {
		for i, step := range steps {
			_, p50, p99 := load(b, clients, each, step)
			if t := &all[i]; round == 0 {
				*t = times{p50, p99}
			} else {
				*t = times{min(t.p50, p50), min(t.p99, p99)}
			}
		}
	}
	return all
}

// hop returns the time of the cheapest call through the gateway.
func (a *archive) hop(clients int) times {
	client := newClient(clients)
	return best(a.B, clients, func() error {
		return client.send(http.MethodGet, a.URL+"/admin/v1/languages", a.Token, "")
	})[0]
}

func (a *archive) compare(b *testing.B, q question, clients int, hop times) {
	t := best(b, clients, a.asked(q, clients), a.bare(q))
	limit := 2*t[1].p99 + hop.p99
	fmt.Printf("projects, %2d clients, %-23s %-25q %7s matches: p50 %8s p99 %8s, SQL p50 %8s p99 %8s, ratio %.2f, "+
		"p99 is %3.0f %% of its limit\n", clients, q.method, q.text, a.total(q),
		short(t[0].p50), short(t[0].p99), short(t[1].p50), short(t[1].p99), float64(t[0].p50)/float64(t[1].p50),
		100*float64(t[0].p99)/float64(limit))
	if q.few && t[0].p99 > limit {
		b.Errorf("%s %q at %d clients: p99 is %s, want at most %s: twice that of SQL, and a hop",
			q.method, q.text, clients, t[0].p99, limit)
	}
}

func short(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// fewMatches measures searches with the same matches among few and many projects.
func (a *archive) fewMatches() (medians []time.Duration) {
	for _, q := range fewest {
		medians = append(medians, best(a.B, 1, a.asked(q, 1))[0].p50)
	}
	return medians
}

func (a *archive) flat(small, large []time.Duration) {
	for i, q := range fewest {
		growth := float64(large[i])/float64(small[i]) - 1
		fmt.Printf("projects, %-23s %s matches: p50 %s among %d, %s among %d: %+.0f %%\n", q.method, a.total(q),
			short(small[i]), someProjects, short(large[i]), allProjects, 100*growth)
		if strings.HasPrefix(q.method, "CONTAINS") && growth > 0.2 {
			a.Errorf("%s takes %.0f %% longer among %d projects, want 20 %%", q.method, 100*growth, allProjects)
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
