package journey_test

import (
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
)

// As the days pass, each owner gets one mail 30, 7 and 1 days before keys of two services end. Others get none. A
// start announces at once what came nearer meanwhile, and nothing twice.
func TestMailsBeforeSomethingEnds(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	i := whole.Start(t, "HERALD_DATABASE_URL="+server.TCP())
	for _, name := range []string{"first", "second", "other"} {
		i.Must("POST", "/management/v1/users/human/_import", whole.Active(name))
	}
	for _, owner := range []string{"first", "second"} {
		i.Must("POST", "/management/v1/orgs/me/members", fmt.Sprintf(`{"userId":%q,"roles":["ORG_OWNER"]}`, owner))
	}
	until := time.Now().Add(30*24*time.Hour + time.Hour).UTC().Format(time.RFC3339)
	key := fmt.Sprintf(`{"type":"KEY_TYPE_JSON","expirationDate":%q}`, until)
	machine := i.Must("POST", "/management/v1/users/machine", `{"userName":"ci","name":"CI"}`)["userId"]
	i.Must("POST", fmt.Sprintf("/management/v1/users/%s/keys", machine), key)
	project := i.Must("POST", "/management/v1/projects", `{"name":"Shop"}`)["id"]
	app := i.Must("POST", fmt.Sprintf("/management/v1/projects/%s/apps/api", project), `{"name":"API"}`)["appId"]
	i.Must("POST", fmt.Sprintf("/management/v1/projects/%s/apps/%s/keys", project, app), key)
	for mails, days := range []int{0, 1, 22, 6, 0} {
		if err := i.Stop(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for service, keys := range map[string]string{"users": "machine_keys", "projects": "application_keys"} {
			pass(t, whole.Database(t, server, service), days, keys)
		}
		pass(t, whole.Database(t, server, "users"), days)
		i.Start()
		mails = min(mails, 3)
		for _, owner := range []string{"first", "second"} {
			for _, text := range received(i, owner, mails) {
				if !strings.Contains(text, "Key of a machine user: CI") ||
					!strings.Contains(text, "Key of an application: API") {
					t.Errorf("the mail to %s is\n%s", owner, text)
				}
			}
		}
		if got := received(i, "other", 0); got != nil {
			t.Errorf("somebody else got %q", got)
		}
	}
}

// pass lets days pass for the keys in a database, or for the mails that owners have had.
func pass(t *testing.T, db *pgx.Conn, days int, keys ...string) {
	t.Helper()
	columns := map[string][]string{"expiration_notices": {"noticed_at"}}
	if len(keys) > 0 {
		columns = map[string][]string{keys[0]: {"created_at", "expires_at"}, "expiration_steps": {"reached_at"}}
	}
	for table, all := range columns {
		for _, column := range all {
			// A day has two hours more, so that what ends a little after a step has come to it.
			sql := fmt.Sprintf(`update %s set %s = %[2]s - make_interval(days => $1, hours => least($1, 1) * 2)`,
				table, column)
			if _, err := db.Exec(t.Context(), sql, days); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// received waits until somebody has got so many mails, and returns their texts. It fails the test if there are more.
func received(i *whole.Instance, name string, mails int) (texts []string) {
	i.T.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var found struct{ Messages []whole.Letter }
	for range 1200 {
		i.Inbox("/api/v1/search?query="+url.QueryEscape(`to:"`+name+`@example.com"`), &found)
		if len(found.Messages) >= mails {
			break
		}
		<-tick.C
	}
	if len(found.Messages) != mails {
		i.T.Fatalf("%s has %d mails, want %d", name, len(found.Messages), mails)
	}
	for _, m := range found.Messages {
		var letter whole.Letter
		i.Inbox("/api/v1/message/"+m.ID, &letter)
		texts = append(texts, letter.Text)
	}
	return texts
}
