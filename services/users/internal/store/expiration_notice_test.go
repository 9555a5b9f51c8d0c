package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/services/users/internal/domain"
	"herald/shared/event"
)

// announce handles the announcement that something of org-a ends soon, and returns who got a mail because of it.
func (w world) announce(at time.Time, userID string) string {
	w.Helper()
	var last int64
	if err := w.db.QueryRow(w.Context(), `select coalesce(max(position), 0) from events`).Scan(&last); err != nil {
		w.Fatal(err)
	}
	d := event.Delivery{ID: "announced", OrganizationID: "org-a", Time: at}
	if err := w.RequestExpirationNotices(w.Context(), d, userID); err != nil {
		w.Fatal(err)
	}
	return w.noticed(last)
}

// noticed returns who got a mail since a position. Each event has its notice and is on its way.
func (w world) noticed(since int64) string {
	w.Helper()
	rows, _ := w.db.Query(w.Context(), `select e.aggregate_id from events e
		join notices n on n.id = e.id || '-notice' and n.user_id = e.aggregate_id and n.about_org_id = 'org-a'
		join outbox using (position) join users u on u.id = e.aggregate_id and u.org_id = e.organization_id
		where e.name = 'expiration_notice_requested' and e.position > $1 and e.data ->> 'cause' = 'announced'
			and e.data ->> 'aboutOrgId' = 'org-a' and e.data ->> 'notice' = 'expiring'
		order by e.aggregate_id`, since)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(all, " ")
}

// owner makes a user of an organization, whose address is verified, an owner of org-a.
func (w world) owner(orgID, id string) {
	w.Helper()
	w.user(orgID, id)
	w.must(w.db.Exec(w.Context(), `update users set state = 1, email = id || '@example.com', email_verified = true,
		uninitialized = false where id = $1`, id))
	w.must(w.CreateMember(w.Context(), owner(id, "org-a", ""), joined))
	w.must(w.db.Exec(w.Context(), `update members set roles = '{ORG_OWNER}', state = 1 where user_id = $1`, id))
}

// owners returns org-a with the owners a and elsewhere, and with others who get no mail about it.
func owners(t *testing.T) world {
	t.Helper()
	w := newWorld(t)
	for _, org := range []string{"org-a", "org-b", "inactive"} {
		w.org(org)
	}
	for id, sql := range map[string]string{
		"a": ``, "unverified": `update users set email_verified = false`, "locked": `update users set state = 3`,
		"inactive": `update users set state = 2`, "initial": `update users set uninitialized = true`,
		"member":   `update members set roles = '{ORG_USER_MANAGER}'`,
		"project":  `update members set project_id = 'p1', roles = '{PROJECT_OWNER}'`,
		"foreign":  `update members set org_id = 'org-b'`,
		"instance": `update members set org_id = '', roles = '{IAM_OWNER}'`,
		"pending":  `update members set state = 2`,
	} {
		w.owner("org-a", id)
		if sql != "" {
			column := "user_id"
			if strings.HasPrefix(sql, "update users") {
				column = "id"
			}
			w.must(w.db.Exec(t.Context(), sql+` where `+column+` = $1`, id))
		}
	}
	w.owner("org-b", "elsewhere")
	w.owner("inactive", "of inactive")
	w.must(w.db.Exec(t.Context(), `update organizations set state = 2 where id = 'inactive'`))
	w.machine("org-a", "robot")
	return w
}

func TestOwnersGetAMailADayBeforeSomethingEnds(t *testing.T) {
	t.Parallel()
	w := owners(t)
	now := time.Now()
	for _, step := range []struct {
		name, userID string
		at           time.Duration
		want         string
	}{
		{"the first announcement", "", 0, "a elsewhere"},
		{"it comes again", "", 0, ""},
		{"one of the same day", "", 23 * time.Hour, ""},
		{"the token of an owner on that day", "a", time.Hour, ""},
		{"the token of a person", "member", time.Hour, "member"},
		{"the token of a person who cannot get mails", "unverified", 0, ""},
		{"the next day", "", 25 * time.Hour, "a elsewhere"},
		{"the first one comes again", "", 0, ""},
		{"the token of a machine", "robot", 50 * time.Hour, "a elsewhere"},
	} {
		if got := w.announce(now.Add(step.at), step.userID); got != step.want {
			t.Errorf("%s: mails to %q, want %q", step.name, got, step.want)
		}
	}
}

// A backlog of announcements asks for one mail, because that lists what all of them announce.
func TestALateMailIsForAllAnnouncementsBeforeIt(t *testing.T) {
	t.Parallel()
	w := owners(t)
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	if got := w.announce(ago(72*time.Hour), ""); got != "a elsewhere" {
		t.Errorf("mails to %q", got)
	}
	for _, d := range []time.Duration{47 * time.Hour, 20 * time.Hour, time.Minute} {
		if got := w.announce(ago(d), ""); got != "" {
			t.Errorf("%s later: mails to %q", d, got)
		}
	}
}

func TestNobodyGetsMailsAboutAnOrganizationThatIsNotActive(t *testing.T) {
	t.Parallel()
	w := owners(t)
	for _, sql := range []string{
		`update organizations set state = 2 where id = 'org-a'`,
		`update organizations set state = org_removed() where id = 'org-a'`,
	} {
		w.must(w.db.Exec(t.Context(), sql))
		if got := w.announce(time.Now(), "") + w.announce(time.Now(), "a"); got != "" {
			t.Errorf("after %s: mails to %q", sql, got)
		}
	}
}

func TestSoManyOwnersGetMails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.org("org-a")
	for i := range 22 {
		w.owner("org-a", fmt.Sprintf("u%02d", i))
	}
	got := strings.Fields(w.announce(time.Now(), ""))
	if len(got) != 20 || got[19] != "u19" {
		t.Errorf("mails to %q", got)
	}
}

// Replicas that handle the same announcements, of several services, ask for one mail.
func TestReplicasRequestOneMail(t *testing.T) {
	t.Parallel()
	w := owners(t)
	var handling sync.WaitGroup
	for i := range 8 {
		handling.Go(func() {
			d := event.Delivery{ID: "announced", OrganizationID: "org-a",
				Time: time.Now().Add(time.Duration(i) * time.Second)}
			if err := w.RequestExpirationNotices(t.Context(), d, ""); err != nil {
				t.Error(err)
			}
		})
	}
	handling.Wait()
	if got := w.noticed(0); got != "a elsewhere" {
		t.Errorf("mails to %q", got)
	}
}

// When the mail is sent, its reader must still be somebody who may get it.
func TestAMailThatNobodyMayGetAnyMoreIsObsolete(t *testing.T) {
	t.Parallel()
	for sql, left := range map[string]bool{
		`select 1`: true, `update users set state = 2 where id = 'a'`: false,
		`update users set email_verified = false where id = 'a'`: false,
		`update organizations set state = 2 where id = 'org-a'`:  false,
	} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			w := owners(t)
			w.announce(time.Now(), "")
			var id string
			if err := w.db.QueryRow(t.Context(), `select id from notices where user_id = 'a'`).Scan(&id); err != nil {
				t.Fatal(err)
			}
			w.must(w.db.Exec(t.Context(), sql))
			m, err := w.PrepareMail(t.Context(), id, "a", time.Now())
			if (err == nil) != left {
				t.Errorf("%v", err)
			}
			if left && (m.AboutOrgID != "org-a" || !m.Owner || m.Notice.Recipient != "a@example.com" ||
				m.User.Type != domain.Human) {
				t.Errorf("%+v", m)
			}
		})
	}
}
