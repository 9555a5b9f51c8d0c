package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres/local"
)

const (
	removedUsers    = 600
	removedProjects = 40
)

// had is the tables with the objects of an organization, by service.
var had = map[string][]string{
	"users": {"organizations where id", "users where org_id", "members where org_id"},
	"projects": {"projects where org_id", "user_grants where org_id", "project_grants where granted_org_id",
		"applications where org_id"},
	"text": {"custom_texts where org_id", "brandings where org_id"}, "idp": {"idps where org_id"},
	"notification": {"notifications where org_id"},
}

// remains is the databases and the removed organization.
type remains struct {
	testing.TB
	db  map[string]*pgx.Conn
	org string
}

func newRemains(t testing.TB, server *local.Server, org string) remains {
	r := remains{t, map[string]*pgx.Conn{}, org}
	for service := range had {
		r.db[service] = whole.Database(t, server, service)
	}
	return r
}

func (r remains) count(service, from string, args ...any) (n int) {
	r.Helper()
	if err := r.db[service].QueryRow(r.Context(), "select count(*) from "+from, args...).Scan(&n); err != nil {
		r.Fatal(err)
	}
	return n
}

// until waits until a condition holds.
func (r remains) until(what string, holds func() bool) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.Fatalf("until %s: %v", what, r.all())
		}
	}
}

// all returns the number of remaining rows by table.
func (r remains) all() map[string]int {
	left := map[string]int{}
	for service, tables := range had {
		for _, table := range tables {
			if n := r.count(service, table+" = $1", r.org); n > 0 {
				left[service+"."+table] = n
			}
		}
	}
	return left
}

// If the system is killed during the removal of an organization, it removes everything in the end,
// with one event for each object.
func TestKilledUnderRemoval(t *testing.T) {
	t.Parallel()
	server := whole.Postgres(t)
	i := whole.New(t, "HERALD_DATABASE_URL="+server.TCP())
	i.Start()
	org := i.Must("POST", "/management/v1/orgs", `{"name":"Acme"}`)["id"].(string)
	own := i.Must("POST", "/management/v1/projects", `{"name":"Granted"}`)["id"].(string)
	i.Must("POST", "/management/v1/projects/"+own+"/grants", fmt.Sprintf(`{"grantedOrgId":%q}`, org))
	i.Org = org
	fill(i)
	r := newRemains(t, server, org)
	i.Must("DELETE", "/management/v1/orgs/me", "")
	i.Org = ""
	r.until("users go", func() bool { return r.count("users", "users where org_id = $1", org) < removedUsers })
	i.Stop(syscall.SIGKILL)
	if n := r.count("users", "users where org_id = $1", org); n == 0 {
		t.Error("all users were gone before the kill")
	}
	i.Start()
	r.until("all is gone", func() bool { return len(r.all()) == 0 })
	for event, want := range map[[3]string]int{
		{"users", "user", "removed"}: removedUsers, {"projects", "project", "removed"}: removedProjects,
		{"projects", "application", "removed"}: removedProjects, {"projects", "project_grant", "removed"}: 1,
		{"text", "message", "removed"}: 1, {"idp", "idp", "removed"}: 1,
	} {
		const from = "events where aggregate = $1 and name = $2"
		each, all := r.count(event[0], "(select distinct aggregate_id from "+from+") x", event[1], event[2]),
			r.count(event[0], from, event[1], event[2])
		if each != want || all != want {
			t.Errorf("%v: %d events of %d objects, want %d", event, all, each, want)
		}
	}
	if status, _ := i.Call("GET", "/management/v1/projects/"+own, ""); status != http.StatusOK {
		t.Error("a project of another organization is gone")
	}
}

// fill creates an object of each kind that an organization can have.
func fill(i *whole.Instance) {
	i.T.Helper()
	var makers sync.WaitGroup
	for maker := range 6 {
		makers.Go(func() {
			for n := maker; n < removedUsers; n += 6 {
				person := whole.Active(fmt.Sprintf("u%05d", n))
				if n < 20 { // with a mail
					person = whole.Person(fmt.Sprintf("u%05d", n))
				}
				if status, answer, err := i.Try("POST", "/management/v1/users/human/_import", person); err != nil ||
					status != http.StatusOK {
					i.T.Errorf("%d %v %v", status, answer, err)
				}
			}
		})
	}
	makers.Wait()
	for n := range removedProjects {
		id := i.Must("POST", "/management/v1/projects", fmt.Sprintf(`{"name":"p%d"}`, n))["id"].(string)
		i.Must("POST", "/management/v1/projects/"+id+"/apps/oidc", `{"name":"Web"}`)
		i.Must("POST", "/management/v1/users/u00100/grants", fmt.Sprintf(`{"projectId":%q}`, id))
	}
	i.Must("PUT", "/management/v1/text/message/init/de", `{"subject":"Willkommen"}`)
	i.Must("PUT", "/management/v1/orgs/me/branding", `{"primaryColor":"#0b6e4f"}`)
	i.Must("POST", "/management/v1/idps/directory", `{"name":"Company","clientId":"herald","clientSecret":"secret"}`)
}
