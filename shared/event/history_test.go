package event_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/postgres"
	"herald/shared/search"
)

// A history has the events of the object and of what belongs to it, whether they were asked
// for or went along, and those of one organization only.
func TestHistory(t *testing.T) {
	t.Parallel()
	r := newJournal(t)
	token := func(id, org, userID string, change ...func(*event.Statement)) error {
		s := event.Statement{AggregateID: id, OrganizationID: org}
		for _, c := range change {
			c(&s)
		}
		_, err := r.Create(t.Context(), &usersv1.PersonalAccessTokenAdded{UserId: userID}, s)
		return err
	}
	along := func(data string) func(*event.Statement) {
		return func(s *event.Statement) { s.Along = `select 'pat', 'removed', 'old', 'org-1', ` + data }
	}
	for _, err := range []error{
		token("t", "org-1", "u", along(`jsonb_build_object('userId', 'u')`)),
		token("elsewhere", "org-2", "u"), token("other", "org-1", "v"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := token("t", "org-1", ""); err == nil || !strings.Contains(err.Error(), "history_of") {
		t.Errorf("an event that no history shows: %v", err)
	}
	if err := token("t", "org-1", "u", along(`'{}'::jsonb`)); err == nil {
		t.Error("an event that went along and that no history shows")
	}
	shown := func(name string) (ids []string, total uint64) {
		t.Helper()
		got, err := r.SearchHistory(t.Context(), event.History{Name: name, OrganizationID: "org-1", ID: "u"},
			search.Page{Limit: 10, Asc: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range got.Result {
			ids = append(ids, e.ObjectId)
		}
		return ids, got.Details.TotalResult
	}
	if ids, total := shown("user"); !slices.Equal(ids, []string{"t", "old"}) || total != 2 {
		t.Errorf("the history shows %v of %d", ids, total)
	}
	if ids, total := shown("org"); len(ids) != 0 || total != 0 {
		t.Errorf("a history of another kind shows %v of %d", ids, total)
	}
}

// Events that were there before histories had ids are in those that they belong to.
func TestHistoryOfOldEvents(t *testing.T) {
	t.Parallel()
	const first = "migrations/001_events.sql"
	sql, err := fs.ReadFile(event.Migrations, first)
	if err != nil {
		t.Fatal(err)
	}
	pool := kit.Pool(t)
	if _, err := pool.Exec(t.Context(), `drop function keep_quota, quota_of; drop table events, outbox,
			first_start, removals, stream_seen, quotas, expiration_steps, event_version`); err != nil {
		t.Fatal(err)
	}
	old := fstest.MapFS{first: {Data: sql}}
	if err := postgres.Migrate(t.Context(), pool, "event_version", old); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `insert into events (id, aggregate, aggregate_id, name, organization_id, actor,
			data, time)
		select a.id, a.aggregate, a.id, a.name, 'o', '', a.data::jsonb, now() from (values
			('token', 'pat', 'added', '{"userId": "user"}'),
			('app', 'application', 'created', '{"projectId": "project"}'),
			('grant', 'grant', 'added', '{"projectId": "project", "grantedOrgId": "o"}'),
			('user grant', 'user_grant', 'added', '{"projectId": "project", "userId": "user"}'),
			('nobody', 'application', 'changed', '{}'),
			('project', 'project', 'created', '{"projectId": "other"}'),
			('user', 'human', 'created', '{"userId": "other"}'),
			('org', 'org', 'renamed', '{}'),
			('text', 'message', 'reset', '{"kind": "init"}')
		) a (id, aggregate, name, data)`); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), pool, "event_version", event.Migrations); err != nil {
		t.Fatal(err)
	}
	rows, _ := pool.Query(t.Context(), `select id || ' of ' || history_id || ': ' || aggregate || '.' || name
		from events order by position`)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want := []string{
		"token of user: pat.added", "app of project: application.created", "grant of project: project_grant.added",
		"user grant of project: user_grant.added", "nobody of nobody: application.changed",
		"project of project: project.created", "user of user: human.created", "org of org: org.changed",
		"text of text: message.removed",
	}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %v", got, err)
	}
}
