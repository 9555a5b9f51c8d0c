package bench_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/secret"
)

const (
	someUsers = 10_000
	allUsers  = 1_000_000
)

// town is an instance with many users in one organization.
type town struct {
	mover
	users int
	// tokens are of as many users. taken counts those that were used.
	tokens []string
	taken  atomic.Int64
}

// BenchmarkUsers compares an import, searches, reads and checks of tokens in an organization of a million users with
// those in one of ten thousand that has the same matches. BENCH_USERS is another number for the million.
func BenchmarkUsers(b *testing.B) {
	many, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_USERS"), strconv.Itoa(allUsers)))
	check(b, err)
	small, large := newTown(b, someUsers), newTown(b, many)
	for _, q := range townQuestions {
		if few, many := small.total(q), large.total(q); few != "20" || many != "20" && many != "21" {
			b.Errorf("%+v: %s and %s matches, want 20, or by chance one more among many", q, few, many)
		}
		compareTowns(b, "search "+q.field+" "+q.method, small.asked(q), large.asked(q), small, large)
	}
	compareTowns(b, "read", small.read(), large.read(), small, large)
	compareTowns(b, "token check", small.checked(), large.checked(), small, large)
	imported(b, small, large)
}

// compareTowns measures a step among few and among many users.
func compareTowns(b *testing.B, name string, few, many func() error, small, large *town) {
	const rounds, each = 20, 100 * time.Millisecond
	t := inTurns(b, 1, rounds, each, few, many)
	growth := float64(t[1].p50)/float64(t[0].p50) - 1
	fmt.Printf("users, %-40s p50 %8s among %d, %8s among %d: %+.0f %%, p99 %s and %s\n", name, short(t[0].p50),
		small.users, short(t[1].p50), large.users, 100*growth, short(t[0].p99), short(t[1].p99))
	b.ReportMetric(growth, strings.ReplaceAll(name, " ", "-")+"-growth")
	if growth > 0.2 {
		fallsShort(b, "%s takes %.0f %% longer among %d users, want 20 %%", name, 100*growth, large.users)
	}
}

// imported compares bulk imports.
func imported(b *testing.B, small, large *town) {
	const n, rounds = 10_000, 3
	var took [2]time.Duration
	for range rounds {
		for i, t := range []*town{small, large} {
			took[i] += t.move(t.file(n, hashed), n)
		}
	}
	growth := took[1].Seconds()/took[0].Seconds() - 1
	fmt.Printf("users, import of %d: %.0f/s among %d, %.0f/s among %d: %+.0f %% time\n", n,
		rounds*n/took[0].Seconds(), small.users, rounds*n/took[1].Seconds(), large.users, 100*growth)
	b.ReportMetric(growth, "import-growth")
	if growth > 0.2 {
		fallsShort(b, "an import takes %.0f %% longer among %d users, want 20 %%", 100*growth, large.users)
	}
}

// townTokens is how many users have a token that is used: so many that the gateway has cached none of them.
const townTokens = 20_000

func newTown(b *testing.B, users int) *town {
	b.Helper()
	t := &town{mover: newMover(b), users: users}
	var hashes [][]byte
	for range min(townTokens, users) {
		token := secret.PersonalAccessToken.New().Reveal()
		t.tokens, hashes = append(t.tokens, token), append(hashes, secret.Hash(token))
	}
	// The index of parts is made afterwards, because updating it for each row takes most of the time.
	var index string
	check(b, t.db.QueryRow(b.Context(), "select coalesce(max(indexdef), '') from pg_indexes where indexname = "+
		"'users_by_part'").Scan(&index))
	for _, sql := range []string{
		"set statement_timeout = 0", "set maintenance_work_mem = '512MB'", "drop index if exists users_by_part",
		fmt.Sprintf(`insert into users (id, org_id, type, state, user_name, user_name_folded, first_name,
			first_name_folded, last_name, last_name_folded, display_name, display_name_folded, email, email_folded,
			email_verified, password_hash, sequence, created_at, changed_at)
			select 'u' || i, '%s', 1, 1, name || i, lower(name || i), first, lower(first), name, lower(name),
				first || ' ' || name, lower(first || ' ' || name), lower(name || i || '@example.com'),
				lower(name || i || '@example.com'), true, '%s', 0, '2026-01-01Z'::timestamptz + i * interval '1 s',
				now()
			from (select i, %s as name, (array['Ada', 'Grace', 'Alan', 'Konrad', 'Emmy'])[1 + i %% 5] as first
				from generate_series(1, %d) i) made`, t.org, whole.Hash, familyNames, users),
		index, "vacuum analyze users", "reset all",
	} {
		_, err := t.db.Exec(b.Context(), sql)
		check(b, err)
	}
	_, err := t.db.Exec(b.Context(), `insert into personal_access_tokens (id, user_id, hash, name, scopes, expires_at,
		makers, client_id, authorizations, sequence, created_at, changed_at)
		select 't' || i, 'u' || i, coalesce(h.hash, sha256(i::text::bytea)), '', array['openid',
			'urn:service:iam:org:project:id:service:aud'], now() + interval '1 day', '{}', '', '{}', 0, now(), now()
		from generate_series(1, $2) i left join unnest($1::bytea[]) with ordinality h (hash, n) on h.n = i`,
		hashes, users)
	check(b, err)
	_, err = t.db.Exec(b.Context(), "vacuum analyze personal_access_tokens")
	check(b, err)
	return t
}

// familyNames is SQL for names of twelve random letters. 20 of the first 10,000 users have letters that others lack.
const familyNames = `initcap(case when i <= 10000 and i % 500 = 2 then 'hnodek' || chr(97 + i / 500) || 'kpfadm'
	else translate(substr(md5(i::text), 1, 12), '0123456789', 'ghijklmnop') end)`

// townQuestion is a text for which users are searched. 20 of the first 10,000 match.
type townQuestion struct{ field, method, text string }

var townQuestions = []townQuestion{
	{"lastName", "STARTS_WITH", "Hnodek"}, {"lastName", "STARTS_WITH_IGNORE_CASE", "HNODEK"},
	{"lastName", "CONTAINS", "kpfadm"}, {"lastName", "CONTAINS_IGNORE_CASE", "HNODEK"},
	{"lastName", "ENDS_WITH", "kpfadm"}, {"lastName", "ENDS_WITH_IGNORE_CASE", "KPFADM"},
	{"userName", "STARTS_WITH_IGNORE_CASE", "HNODEK"}, {"displayName", "ENDS_WITH", "kpfadm"},
	{"email", "CONTAINS_IGNORE_CASE", "KPFADM"},
}

func (q townQuestion) body() string {
	return fmt.Sprintf(`{"query":{"limit":50},"queries":[{"%sQuery":{%q:%q,"method":"TEXT_QUERY_METHOD_%s"}}]}`,
		q.field, q.field, q.text, q.method)
}

func (t *town) asked(q townQuestion) func() error {
	client, body := newClient(1), q.body()
	return func() error {
		return client.send(http.MethodPost, t.URL+"/management/v1/users/_search", t.Token, body)
	}
}

// total returns the number of matches.
func (t *town) total(q townQuestion) string {
	_, answer := t.Call(http.MethodPost, "/management/v1/users/_search", q.body())
	details, _ := answer["details"].(map[string]any)
	total, _ := details["totalResult"].(string)
	return total
}

// read returns a step that reads one user after the other.
func (t *town) read() func() error {
	client := newClient(1)
	var n int
	return func() error {
		n = (n + 7919) % t.users
		return client.send(http.MethodGet, fmt.Sprintf("%s/management/v1/users/u%d", t.URL, n+1), t.Token, "")
	}
}

// checked returns a step that makes the cheapest call with a token that was not used before.
func (t *town) checked() func() error {
	client := newClient(1)
	return func() error {
		n := t.taken.Add(1)
		if n > int64(len(t.tokens)) {
			return fmt.Errorf("all %d tokens were used: %w", n, context.Canceled)
		}
		return client.send(http.MethodGet, t.URL+"/admin/v1/languages", t.tokens[n-1], "")
	}
}
