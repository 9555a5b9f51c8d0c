package store_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/store"
	"herald/shared/mail"
	"herald/shared/postgres"
	"herald/shared/search"
	"herald/shared/testkit"
)

var kit = testkit.New("notification", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// made has a fraction of a second that Postgres can store.
var made = time.Date(2026, 11, 21, 8, 0, 0, 123456000, time.UTC)

type world struct {
	testing.TB
	db *pgxpool.Pool
	store.Store
}

func newWorld(t testing.TB) world {
	t.Helper()
	j := kit.Journal(t)
	j.Now = func() time.Time { return made }
	return world{t, j.DB, store.New(j)}
}

func (w world) queue(id string) {
	w.Helper()
	if _, err := w.Queue(w.Context(), domain.Notification{ID: id, OrgID: "o1", UserID: "u1", Kind: mail.Init,
		CreatedAt: made}); err != nil {
		w.Fatal(err)
	}
}

func (w world) claim(n int, lease time.Duration) []domain.Claim {
	w.Helper()
	claims, err := w.Claim(w.Context(), store.Ask{Most: n, Lease: lease, Repeats: true, Pause: time.Minute})
	if err != nil {
		w.Fatal(err)
	}
	return claims
}

// one claims a notification and fails the test unless exactly one is due.
func (w world) one(lease time.Duration) domain.Claim {
	w.Helper()
	claims := w.claim(5, lease)
	if len(claims) != 1 {
		w.Fatalf("claimed %+v, want one", claims)
	}
	return claims[0]
}

func (w world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.db.Exec(w.Context(), sql, args...); err != nil {
		w.Fatal(err)
	}
}

// A release before the third migration recorded mails without organization.
func TestMailsWithoutOrganizationGetTheOneOfTheUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, n := range []domain.Notification{
		{ID: "a", OrgID: "o1", UserID: "ada"}, {ID: "b", UserID: "ada"}, {ID: "c", UserID: "ada"},
		{ID: "d", OrgID: "o2", UserID: "bob"}, {ID: "e", UserID: "bob"}, {ID: "f", UserID: "eve"},
	} {
		n.Kind, n.CreatedAt = mail.PasswordReset, made
		if _, err := w.Queue(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	w.migrate("003_organizations_of_early_mails.sql")
	w.has("a o1 ada", "b o1 ada", "c o1 ada", "d o2 bob", "e o2 bob", "f  eve")
	if err := w.Forget(t.Context(), "o3", "eve"); err != nil {
		t.Fatal(err)
	}
	w.has("a o1 ada", "b o1 ada", "c o1 ada", "d o2 bob", "e o2 bob")
}

// A release before the fourth migration stored replies with all that the relay said.
func TestStoredRepliesLoseTheTextOfTheRelay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.queue("a")
	for before, after := range map[string]string{
		"250 2.0.0 accepted K7MPX4RD":                                      "250 2.0.0 …",
		"550 K7MPX4RD (spam)":                                              "550 …",
		"(550 5.1.1 no K7MPX4RD (x)): check it":                            "(550 5.1.1 …",
		"the mail relay failed at the final dot: short response: K7MPX4RD": "the mail relay failed at the final dot …",
		"no longer wanted: its code was used":                              "no longer wanted: its code was used",
		"the mail relay failed at connecting: connect: connection refused": "the mail relay failed at connecting: " +
			"connect: connection refused",
	} {
		w.exec(`delete from attempts`)
		w.exec(`insert into attempts values ('a', 1, now(), 5, $1)`, before)
		w.migrate("004_replies_without_quotes.sql")
		if n := testkit.Rows(t, w.db, "attempts where reply = $1", after); n != 1 {
			t.Errorf("%q does not become %q", before, after)
		}
	}
}

func (w world) migrate(name string) {
	w.Helper()
	sql, err := store.Migrations.ReadFile("migrations/" + name)
	if err != nil {
		w.Fatal(err)
	}
	w.exec(string(sql))
}

// has fails the test if the mails are not these. Each is its id, organization and user.
func (w world) has(want ...string) {
	w.Helper()
	rows, _ := w.db.Query(w.Context(), `select concat_ws(' ', id, org_id, user_id) from notifications order by id`)
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	if !slices.Equal(got, want) {
		w.Errorf("there are %q, want %q", got, want)
	}
}

func (w world) beginSending(c domain.Claim) {
	w.Helper()
	if err := w.BeginSending(w.Context(), c, made, time.Minute); err != nil {
		w.Fatal(err)
	}
}

func (w world) settle(c domain.Claim, v domain.Verdict) {
	w.Helper()
	if err := w.Settle(w.Context(), c, v, nil); err != nil {
		w.Fatal(err)
	}
}

// rows returns a query's rows, one a line.
func (w world) rows(sql string) string {
	w.Helper()
	var text string
	if err := w.db.QueryRow(w.Context(),
		"select coalesce(string_agg(r::text, E'\n'), '') from ("+sql+") r").Scan(&text); err != nil {
		w.Fatal(err)
	}
	return text
}

const attempts = "select number, state, reply, rendered from attempts order by number"

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.queue(fmt.Sprint(i))
	}
	for _, c := range w.claim(2, time.Minute) {
		c.Recipient = "ada@example.com"
		w.settle(c, domain.Verdict{State: domain.Retrying, Attempt: domain.Retrying, Reply: "450 later"})
	}
	for _, c := range w.claim(2, time.Minute) {
		if c.Fence == 2 {
			w.settle(c, domain.Verdict{State: domain.Sent, Attempt: domain.Sent, Reply: "250 ok"})
		}
	}
	list, err := w.List(t.Context(), "o1", "u1", search.Page{Limit: 2, Asc: true})
	if err != nil {
		t.Fatal(err)
	}
	if list.Total != 3 || len(list.Rows) != 2 || list.Rows[0].ID != "0" || len(list.Rows[0].Attempts) == 0 {
		t.Fatalf("%+v", list)
	}
	first := list.Rows[0].Attempts[0]
	if first.State != domain.Retrying || first.Reply != "450 later" || !first.Time.Equal(made) {
		t.Errorf("attempt %+v", first)
	}
}

func (w world) plan(sql string, args postgres.Args) string {
	w.Helper()
	rows, err := w.db.Query(w.Context(), "explain "+sql, args)
	if err != nil {
		w.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// No request violates a constraint of the tables.
func TestConstraints(t *testing.T) {
	t.Parallel()
	testkit.Constrained(t, kit.Pool(t), nil, map[string]bool{}, map[string]string{
		"notifications_pkey":            "a repeated notification is left as it is, and a test mail has a new id",
		"smtp_pkey":                     "the row is there, and none is added",
		"smtp_id_check":                 "nobody chooses the id of the only row",
		"attempts_pkey":                 "an attempt has the number of the claim that it ends",
		"attempts_notification_id_fkey": "the statement has locked the notification",
	})
}
