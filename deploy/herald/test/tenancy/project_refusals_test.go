package tenancy_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"herald/deploy/herald/test/whole"
	"herald/shared/contract"
	"herald/shared/fault"
)

// documented is a row of docs/errors.md.
type documented struct {
	http    int
	code    fault.Code
	message string
	from    string
}

func documentedErrors(t *testing.T) map[string]documented {
	t.Helper()
	text := whole.File(t, "docs/errors.md")
	all := map[string]documented{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, " | ")
		if len(cells) != 5 || !strings.HasPrefix(line, "| `") {
			continue
		}
		number, _, _ := strings.Cut(cells[2], " ")
		code, err := strconv.Atoi(number)
		http, err2 := strconv.Atoi(cells[1])
		if err != nil || err2 != nil {
			t.Fatal(line)
		}
		all[strings.Trim(cells[0], "| `")] = documented{
			http, fault.Code(code), cells[3], strings.Trim(cells[4], " |\n"),
		}
	}
	return all
}

// projectRefusals are requests that provoke the errors of projects and of the objects in them: the
// error's id, the method and its JSON, in which {name} stands for the id of an object of things.
var projectRefusals = []struct{ id, method, json string }{
	{"PROJECT_NOT_FOUND", "GetProject", `{"projectId":"nowhere"}`},
	{"PROJECT_NAME_TAKEN", "CreateProject", `{"name":"{p}"}`},
	{"PROJECT_NAME_TAKEN", "UpdateProject", `{"projectId":"{p}","name":"{q}"}`},
	{"PROJECT_NOT_ACTIVE", "DeactivateProject", `{"projectId":"{q}"}`},
	{"PROJECT_NOT_INACTIVE", "ReactivateProject", `{"projectId":"{p}"}`},
	{"PROJECT_ROLE_NOT_FOUND", "UpdateProjectRole", `{"projectId":"{p}","key":"nowhere"}`},
	{"PROJECT_ROLE_EXISTS", "AddProjectRole", `{"projectId":"{p}","key":"{role}"}`},
	{"PROJECT_ROLE_TWICE", "AddProjectRoles", `{"projectId":"{p}","roles":[{"key":"x"},{"key":" x"}]}`},
	{"PROJECT_ROLE_UNKNOWN", "AddProjectGrant", `{"projectId":"{p}","grantedOrgId":"{V}","roleKeys":["nowhere"]}`},
	{"PROJECT_ROLE_UNKNOWN", "UpdateUserGrant", `{"userId":"{user}","grantId":"{userGrant}","roleKeys":["nowhere"]}`},
	{"PROJECT_GRANT_NOT_FOUND", "GetProjectGrant", `{"projectId":"{p}","grantId":"nowhere"}`},
	{"PROJECT_GRANT_EXISTS", "AddProjectGrant", `{"projectId":"{p}","grantedOrgId":"{third}"}`},
	{"PROJECT_GRANT_NOT_ACTIVE", "DeactivateProjectGrant", `{"projectId":"{q}","grantId":"{ended}"}`},
	{"PROJECT_GRANT_NOT_INACTIVE", "ReactivateProjectGrant", `{"projectId":"{p}","grantId":"{grant}"}`},
	{"PROJECT_GRANT_ENDED", "AddUserGrant",
		`{"userId":"{user}","projectId":"{left}","projectGrantId":"{declined}"}`},
	{"PROJECT_GRANT_TO_OWNER", "AddProjectGrant", `{"projectId":"{p}","grantedOrgId":"{A}"}`},
	{"GRANTED_ORG_UNKNOWN", "AddProjectGrant", `{"projectId":"{p}","grantedOrgId":"nowhere"}`},
	{"USER_GRANT_NOT_FOUND", "GetUserGrant", `{"userId":"{user}","grantId":"nowhere"}`},
	{"USER_GRANT_EXISTS", "AddUserGrant", `{"userId":"{user}","projectId":"{home}"}`},
	{"USER_GRANT_PROJECT_UNKNOWN", "AddUserGrant", `{"userId":"{user}","projectId":"nowhere"}`},
	{"USER_GRANT_PROJECT_GRANT_UNKNOWN", "AddUserGrant",
		`{"userId":"{user}","projectId":"{theirs}","projectGrantId":"nowhere"}`},
	{"USER_NOT_FOUND", "AddUserGrant",
		`{"userId":"{stranger}","projectId":"{theirs}","projectGrantId":"{granted}"}`},
	{"USER_NOT_FOUND", "AddUserGrant", `{"userId":"nowhere","projectId":"{p}"}`},
	{"APP_NOT_FOUND", "GetApp", `{"projectId":"{p}","appId":"nowhere"}`},
	{"APP_NAME_TAKEN", "CreateApiApp", `{"projectId":"{p}","name":"web"}`},
	{"APP_NAME_TAKEN", "UpdateApp", `{"projectId":"{p}","appId":"{api}","name":"web"}`},
	{"APP_NOT_ACTIVE", "DeactivateApp", `{"projectId":"{p}","appId":"{api}"}`},
	{"APP_NOT_INACTIVE", "ReactivateApp", `{"projectId":"{p}","appId":"{web}"}`},
	{"APP_NOT_API", "UpdateApiConfig", `{"projectId":"{p}","appId":"{web}"}`},
	{"APP_NOT_API", "GenerateApiClientSecret", `{"projectId":"{p}","appId":"{web}"}`},
	{"APP_NOT_OIDC", "UpdateOidcConfig", `{"projectId":"{p}","appId":"{api}"}`},
	{"APP_NOT_OIDC", "GenerateOidcClientSecret", `{"projectId":"{p}","appId":"{api}"}`},
	{"APP_USES_NO_SECRET", "GenerateOidcClientSecret", `{"projectId":"{p}","appId":"{open}"}`},
	{"APP_KEY_NOT_FOUND", "GetAppKey", `{"projectId":"{p}","appId":"{web}","keyId":"nowhere"}`},
	{"APP_KEY_LIMIT", "AddAppKey", `{"projectId":"{p}","appId":"{web}","publicKey":"{publicKey}"}`},
	{"OIDC_CONFIG_INVALID", "CreateOidcApp", `{"projectId":"{p}","name":"x","redirectUris":["https://a.example/#f",` +
		`"http://b.example"]}`},
	{"EXPIRATION_DATE_PAST", "AddAppKey",
		`{"projectId":"{p}","appId":"{web}","expirationDate":"2001-01-01T00:00:00Z"}`},
	{"PUBLIC_KEY_INVALID", "AddAppKey", `{"projectId":"{p}","appId":"{web}","publicKey":"AAAA"}`},
	{"LIMIT_EXCEEDED", "SearchApps", `{"projectId":"{p}","query":{"limit":"1001"}}`},
	{"INVALID_ARGUMENT", "AddProjectRole",
		`{"projectId":"{p}","key":"a\u0000b","group":"` + strings.Repeat("x", 201) + `"}`},
	{"NOT_FOUND", "GetApp", `{"projectId":"{p}","appId":"` + strings.Repeat("x", 201) + `"}`},
}

// For every error of projects there is a request that causes it. The error is the same over every protocol, and is the
// one in docs/errors.md.
func TestProjectRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.visit("the owner", w.own.org, "ORG_OWNER", "")
	names := w.things()
	list, met := documentedErrors(t), map[string]bool{}
	for _, c := range projectRefusals {
		met[c.id] = true
		w.meets(c.id, list[c.id], w.asked(c.method, strings.NewReplacer(names...).Replace(c.json), owner.token),
			func(call func()) { call() })
	}
	met["USER_GRANT_OUTDATED"], met["USER_GRANT_USER_REMOVED"] = true, true
	w.removedUser(list["USER_GRANT_USER_REMOVED"], owner, names)
	w.outdated(list["USER_GRANT_OUTDATED"], owner, names)
	for id, d := range list {
		if d.from == "projects" && !met[id] {
			t.Errorf("no request here provokes %s: add one to projectRefusals in project_refusals_test.go", id)
		}
	}
}

// meets sends the request over every protocol and compares the refusals with the documented one. send
// gets the function that sends it.
func (w *world) meets(id string, want documented, r whole.Request, send func(call func())) {
	w.t.Helper()
	var first *statuspb.Status
	for _, p := range w.Protocols() {
		var s *statuspb.Status
		send(func() { _, s = p.Call(w.t, r) })
		if first == nil {
			first = s
		}
		f := fault.FromStatus(s)
		said := f.Message == want.message || len(f.Fields) > 0 || want.from == "shared"
		if f.ID != id || f.Code != want.code || f.HTTPStatus() != want.http || !said || !proto.Equal(s, first) {
			w.t.Errorf("%s %s over %s is refused with %v, and projectRefusals and docs/errors.md want %s %+v: "+
				"correct the request or its id, and run make generate after a change of the fault",
				r.Method.Name(), r.JSON, p.Name, s, id, want)
		}
	}
}

// asked returns the request of a method of projects.
func (w *world) asked(method, body, token string) whole.Request {
	w.t.Helper()
	for _, m := range w.methods() {
		if string(m.Name()) != method || m.Owner() != "projects" {
			continue
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(body), &fields); err != nil {
			w.t.Fatalf("%s: %v", body, err)
		}
		route := verbAndPath(m)
		for _, name := range contract.PathFields(route) {
			id, _ := fields[m.Input().Fields().ByTextName(name).JSONName()].(string)
			route = strings.Replace(route, "{"+name+"}", url.PathEscape(id), 1)
		}
		return whole.Request{Method: m.MethodDescriptor, Path: route, JSON: body, Token: token}
	}
	w.t.Fatalf("projects has no method %s: correct its name in projectRefusals", method)
	return whole.Request{}
}

// things makes the objects for the refusals and returns their names and ids.
func (w *world) things() []string {
	ids := map[string]string{}
	made := func(route, body, answer string) string {
		id, _ := w.must(w.own.org, w.fill(w.own, ids, route), w.fill(w.own, ids, body))[answer].(string)
		return id
	}
	ids["project_id"] = made("POST /management/v1/projects", `{"name":"q"}`, "id")
	q := ids["project_id"]
	ids["grant_id"] = w.make(w.own, "projectGrant", ids, "grant_id")
	ended := ids["grant_id"]
	made("POST /management/v1/projects/{project_id}/grants/{grant_id}/_deactivate", `{}`, "")
	made("POST /management/v1/projects/{project_id}/_deactivate", `{}`, "")
	ids["project_id"] = made("POST /management/v1/projects", `{"name":"p"}`, "id")
	p := ids["project_id"]
	const apps = "POST /management/v1/projects/{project_id}/apps/"
	web, open, api := made(apps+"oidc", `{"name":"web"}`, "appId"),
		made(apps+"oidc", `{"name":"open","authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE"}`, "appId"), made(apps+"api",
			`{"name":"api"}`, "appId")
	made(apps+api+"/_deactivate", `{}`, "")
	for range 20 {
		made(apps+web+"/keys", `{"publicKey":"{publicKey}"}`, "keyId")
	}
	ids["user_id"] = w.make(w.own, "user", nil, "user_id")
	granted, _ := w.must(w.foreign.org, "POST /management/v1/projects/"+w.foreign.home+"/grants", `{"grantedOrgId":"`+
		w.own.org+`"}`)["grantId"].(string)
	left := w.make(w.foreign, "project", nil, "project_id")
	declined, _ := w.must(w.foreign.org, "POST /management/v1/projects/"+left+"/grants", `{"grantedOrgId":"`+
		w.own.org+`"}`)["grantId"].(string)
	w.must(w.own.org, "POST /management/v1/granted_projects/"+declined+"/_end", `{}`)
	return []string{
		"{left}", left, "{declined}", declined,
		`"name":"{p}"`, `"name":"p"`, `"name":"{q}"`, `"name":"q"`, "{p}", p, "{q}", q, "{ended}", ended, "{web}", web,
		"{open}", open, "{api}", api,
		"{role}", w.make(w.own, "role", ids, "key"), "{grant}", w.make(w.own, "projectGrant", ids, "grant_id"),
		"{user}", ids["user_id"], "{userGrant}", w.make(w.own, "userGrant", ids, "grant_id"), "{home}", w.own.home,
		"{theirs}", w.foreign.home, "{granted}", granted, "{stranger}", w.foreign.member,
		"{A}", w.own.org, "{V}", w.foreign.org, "{third}", w.third, "{publicKey}", w.publicKey,
	}
}

// removedUser asks for a grant to a user whose removal projects knows of, and users did not when it was asked.
func (w *world) removedUser(want documented, owner visitor, names []string) {
	w.t.Helper()
	db, ctx, user := w.db["projects"], w.t.Context(), names[slices.Index(names, "{stranger}")+1]
	if _, err := db.Exec(ctx, `insert into removed_users (id) values ($1)`, user); err != nil {
		w.t.Fatal(err)
	}
	body := strings.NewReplacer(names...).Replace(`{"userId":"{stranger}","projectId":"{p}"}`)
	w.meets("USER_GRANT_USER_REMOVED", want, w.asked("AddUserGrant", body, owner.token), func(call func()) { call() })
	if _, err := db.Exec(ctx, `delete from removed_users where id = $1`, user); err != nil {
		w.t.Fatal(err)
	}
}

// outdated removes a role after a grant has read it. The test holds the project's row, for which the
// grant waits.
func (w *world) outdated(want documented, owner visitor, names []string) {
	w.t.Helper()
	p := names[slices.Index(names, "{p}")+1]
	db, ctx := w.db["projects"], w.t.Context()
	body := strings.NewReplacer(names...).Replace(`{"userId":"{stranger}","projectId":"{p}","roleKeys":["passing"]}`)
	w.meets("USER_GRANT_OUTDATED", want, w.asked("AddUserGrant", body, owner.token), func(call func()) {
		w.must(w.own.org, "POST /management/v1/projects/"+p+"/roles", `{"key":"passing"}`)
		tx, err := db.Begin(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := tx.Exec(ctx, `select from projects where id = $1 for no key update`, p); err != nil {
			w.t.Fatal(err)
		}
		answered, removed := make(chan struct{}), make(chan error, 1)
		go func() { removed <- removeAwaited(ctx, tx, p, answered) }()
		call()
		close(answered)
		if err := <-removed; err != nil {
			w.t.Fatal(err)
		}
	})
}

// removeAwaited removes the role "passing" of a project when somebody waits for the transaction, which holds the
// project. It fails if the request is answered before anybody has waited.
func removeAwaited(ctx context.Context, tx pgx.Tx, project string, answered <-chan struct{}) error {
	defer tx.Rollback(ctx)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for waits := false; !waits; {
		if err := tx.QueryRow(ctx, `select exists (select from pg_stat_activity
			where wait_event in ('tuple', 'transactionid') and datname = current_database())`).
			Scan(&waits); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-answered:
			return errors.New("the grant did not wait for the project")
		}
	}
	if _, err := tx.Exec(ctx, `delete from roles where project_id = $1 and key = 'passing'`, project); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
