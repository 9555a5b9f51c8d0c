package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/quota"
)

// quotaExceeded is the SQLSTATE that the function keep_quota raises.
const quotaExceeded = "HQ001"

// wantedQuotas are the quotas among the arguments.
const wantedQuotas = `with wanted as (
	select * from unnest(@names::text[], @orgs::text[], @most::bigint[], @what::text[]) w (name, org_id, most, what))`

// AddQuotas writes the lines that the table of quotas lacks. It runs before the migrations of a service: a trigger
// keep_quota refuses everything while its line is missing, also what an older replica inserts.
func AddQuotas(ctx context.Context, db *pgxpool.Pool) error {
	return writeQuotas(ctx, db, quota.All(), wantedQuotas+`
		insert into quotas (name, org_id, most, what) select name, org_id, most, what from wanted
		on conflict do nothing`)
}

// SetQuotas writes the table of quotas, from which the triggers keep_quota of a service's database read. It removes the
// numbers of single organizations that are not set any more.
func SetQuotas(ctx context.Context, db *pgxpool.Pool, s quota.Settings) error {
	all, err := s.Table()
	if err != nil {
		return err
	}
	return writeQuotas(ctx, db, all, wantedQuotas+`, gone as (
			delete from quotas q where org_id <> '' and not exists (
				select from wanted w where (w.name, w.org_id) = (q.name, q.org_id))
		)
		insert into quotas (name, org_id, most, what) select name, org_id, most, what from wanted
		on conflict (name, org_id) do update set most = excluded.most, what = excluded.what
			where (quotas.most, quotas.what) is distinct from (excluded.most, excluded.what)`)
}

func writeQuotas(ctx context.Context, db *pgxpool.Pool, all []quota.Quota, sql string) error {
	var names, orgs, what []string
	var most []int64
	for _, q := range all {
		names, orgs, most, what = append(names, q.Name), append(orgs, ""), append(most, q.Most), append(what, q.What)
		for org, n := range q.Orgs {
			names, orgs, most, what = append(names, q.Name), append(orgs, org), append(most, n), append(what, q.What)
		}
	}
	if _, err := db.Exec(ctx, sql, Args{"names": names, "orgs": orgs, "most": most, "what": what}); err != nil {
		return fmt.Errorf("write the quotas: %w", Fault(err))
	}
	return nil
}
