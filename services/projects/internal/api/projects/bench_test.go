package projects_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/services/projects/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// BenchmarkSearchProjects compares pages of 50 among 200,000 projects of one organization with the
// same count and page in SQL that sorts all matches.
func BenchmarkSearchProjects(b *testing.B) {
	w := testworld.New(b)
	fill(w, 200_000)
	for _, c := range []struct {
		label, name string
		method      heraldv1.TextQueryMethod
	}{
		{"equals", "Alpha Shop 00040 0", 0}, {"equals-ignoring-case", "ALPHA shop 00040 0", 1},
		{"starts-few", "Gamma Portal 001", 2}, {"starts-ignoring-case-few", "gamma portal 001", 3},
		{"contains-few", "Shop 0017", 4}, {"contains-ignoring-case-few", "shop 0017", 5},
		{"ends-few", " 123", 6}, {"ends-ignoring-case-few", "7 123", 7},
		{"starts-wide", "Alpha", 2}, {"contains-wide", "Shop", 4}, {"contains-letter", "a", 5}, {"ends-wide", "7", 6},
		{"all", "", 4},
	} {
		r := &projectsv1.SearchProjectsRequest{
			Query: &heraldv1.ListQuery{Limit: 50},
			Queries: []*projectsv1.ProjectFilter{{NameQuery: &projectsv1.ProjectNameQuery{Name: c.name,
				Method: c.method}}},
		}
		b.Run(c.label, func(b *testing.B) {
			in := w.As("org-a", "ORG_OWNER") // signatures expire
			var total uint64
			service := measured(b, func() error {
				list, err := w.SearchProjects(in, r)
				total = list.GetDetails().GetTotalResult()
				return err
			})
			plain := measured(b, func() error { return bare(w, c.method, c.name) })
			b.ReportMetric(float64(total), "matches")
			b.ReportMetric(service(50), "p50-ms")
			b.ReportMetric(service(99), "p99-ms")
			b.ReportMetric(plain(50), "bare-p50-ms")
			b.ReportMetric(plain(99), "bare-p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// measured runs a step b.N times and returns percentiles of its time.
func measured(b *testing.B, step func() error) func(percent int) float64 {
	b.Helper()
	times := make([]time.Duration, b.N)
	for i := range times {
		start := time.Now()
		if err := step(); err != nil {
			b.Fatal(err)
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return func(percent int) float64 { return times[(len(times)-1)*percent/100].Seconds() * 1000 }
}

// fill inserts projects with names of three parts. It drops the indexes of parts of names and makes
// them afterwards, because updating them for each row takes most of the time.
func fill(w *testworld.World, n int) {
	w.Helper()
	rows, err := w.Service.DB.Query(w.Context(),
		`select indexdef from pg_indexes where indexname like 'projects_by_part%'`)
	if err != nil {
		w.Fatal(err)
	}
	indexes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(indexes) != 2 {
		w.Fatal(indexes, err)
	}
	for _, sql := range slices.Concat([]string{
		"set statement_timeout = 0", "drop index projects_by_part_of_name",
		"drop index projects_by_part_of_name_folded",
		fmt.Sprintf(`insert into projects (id, org_id, name, name_folded, state, project_role_assertion,
			project_role_check, has_project_check,
				private_labeling_setting, sequence, created_at, changed_at)
			select 'p' || lpad(i::text, 8, '0'), 'org-a', name, lower(name), 1, false, false, false, 0, i,
			'2026-01-01Z'::timestamptz + i * interval '1 s', now()
			from (select i, (array['Alpha', 'Beta', 'Gamma', 'Delta', 'Omega'])[1 + i %% 5] || ' ' ||
				(array['Shop', 'Portal', 'Billing', 'Mobile'])[1 + i / 5 %% 4]
				|| ' ' || lpad((i / 1000)::text, 5, '0') || ' ' || i %% 1000 as name
				from generate_series(1, %d) i) made`, n),
	}, indexes, []string{"analyze projects"}) {
		if _, err := w.Service.DB.Exec(w.Context(), sql); err != nil {
			w.Fatal(err)
		}
	}
}

// bare runs the search in plain SQL: it counts the matches and reads a page.
func bare(w *testworld.World, method heraldv1.TextQueryMethod, name string) error {
	column := "name"
	if method%2 == 1 {
		column, name = "name_folded", search.Fold(name)
	}
	condition := column + ` = '` + name + `'`
	if method > 1 {
		likes := map[heraldv1.TextQueryMethod]string{1: name + "%", 2: "%" + name + "%", 3: "%" + name}
		condition = column + ` like '` + strings.ReplaceAll(likes[method/2], "'", "''") + `'`
	}
	var b pgx.Batch
	b.Queue(`select count(*) from projects where org_id = 'org-a' and ` + condition)
	b.Queue(`select * from projects where org_id = 'org-a' and ` + condition +
		` order by created_at desc, id desc limit 50`)
	return w.Service.DB.SendBatch(w.Context(), &b).Close()
}
