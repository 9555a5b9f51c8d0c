package tenancy_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"herald/deploy/herald/internal/allinone"
	"herald/deploy/herald/test/whole"
	"herald/shared/contract"
	"herald/shared/secret"
)

// place says in which organization or project an object is.
type place int

const (
	own place = iota
	// sibling is in another project of the same organization than the one in the request.
	sibling
	foreign
	nowhere
	removed
)

func (p place) in(some ...place) bool { return slices.Contains(some, p) }

// object is the objects of a call. The field at names an object in another place than the others do;
// if at is -1, all do.
type object struct {
	fields []string
	ids    map[string]string
	at     int
	place  place
}

func (o object) String() string {
	what := "all"
	if o.at >= 0 {
		what = o.fields[o.at]
	}
	return fmt.Sprintf("%s %s", []string{"own", "sibling", "foreign", "missing", "removed"}[o.place], what)
}

// of returns the place of the object that a field names.
func (o object) of(field string) place {
	if n := slices.Index(o.fields, field); n < 0 || o.at >= 0 && n != o.at {
		return own
	}
	return o.place
}

// kind says how to make and remove objects of a kind: verb, path and body of requests, in which
// {name} stands for the field of that name. The first answer has the id.
type kind struct {
	create [][2]string
	// insert is SQL on the database of users, for what only an import or a login makes.
	insert   string
	answer   string
	remove   string
	instance bool // belongs to no organization
}

const aPerson = `{"userId":"{new}","userName":"{new}","profile":{"firstName":"Mini","lastName":"Mouse"},
	"email":{"email":"{new}@example.com","isEmailVerified":true},"hashedPassword":{"value":"` + whole.Hash + `"}}`

const otpSecret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

const linked = `insert into user_idp_links (idp_id, external_user_id, tenant_id, display_name, sequence, created_at,
	changed_at, user_id) values ('{idp_id}', '{new}', '', '', 1, now(), now(), `

var (
	imported = [2]string{"POST /management/v1/users/human/_import", aPerson}

	kinds = map[string]kind{
		"project": {create: [][2]string{
			{"POST /management/v1/projects", `{"name":"{new}"}`},
			{"POST /management/v1/projects/{project_id}/members", `{"userId":"{member}","roles":["PROJECT_OWNER"]}`},
		}, answer: "id", remove: "DELETE /management/v1/projects/{project_id}"},
		"oidcApp": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/apps/oidc", `{"name":"{new}"}`}},
			answer: "appId", remove: "DELETE /management/v1/projects/{project_id}/apps/{app_id}",
		},
		"apiApp": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/apps/api", `{"name":"{new}"}`}},
			answer: "appId", remove: "DELETE /management/v1/projects/{project_id}/apps/{app_id}",
		},
		"appKey": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/apps/{app_id}/keys",
				`{"publicKey":"{publicKey}"}`}}, answer: "keyId",
			remove: "DELETE /management/v1/projects/{project_id}/apps/{app_id}/keys/{key_id}",
		},
		"role": {create: [][2]string{{"POST /management/v1/projects/{project_id}/roles", `{"key":"{new}"}`}},
			remove: "DELETE /management/v1/projects/{project_id}/roles/{key}"},
		"projectGrant": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/grants", `{"grantedOrgId":"{third}"}`}},
			answer: "grantId", remove: "DELETE /management/v1/projects/{project_id}/grants/{grant_id}",
		},
		"user": {create: [][2]string{imported}},
		"machine": {create: [][2]string{{"POST /management/v1/users/machine", `{"userName":"{new}","name":"{new}"}`}},
			answer: "userId", remove: "DELETE /management/v1/users/{user_id}"},
		"otpUser": {create: [][2]string{{imported[0], strings.Replace(aPerson, "{", `{"otpCode":"`+otpSecret+`",`, 1)}},
			remove: "DELETE /management/v1/users/{user_id}/auth_factors/otp"},
		"machineKey": {create: [][2]string{{"POST /management/v1/users/{user_id}/keys", `{"publicKey":"{publicKey}"}`}},
			answer: "keyId", remove: "DELETE /management/v1/users/{user_id}/keys/{key_id}"},
		"token": {create: [][2]string{{"POST /management/v1/users/{user_id}/pats", `{}`}}, answer: "tokenId",
			remove: "DELETE /management/v1/users/{user_id}/pats/{token_id}"},
		"myToken": {create: [][2]string{{"POST /management/v1/users/{caller}/pats", `{}`}}, answer: "tokenId",
			remove: "DELETE /management/v1/users/{caller}/pats/{token_id}"},
		"metadata": {
			create: [][2]string{{"POST /management/v1/users/{user_id}/metadata/{new}", `{"value":"cw=="}`}},
			remove: "DELETE /management/v1/users/{user_id}/metadata/{key}",
		},
		"userGrant": {create: [][2]string{{"POST /management/v1/users/{user_id}/grants", `{"projectId":"{home}"}`}},
			answer: "userGrantId", remove: "DELETE /management/v1/users/{user_id}/grants/{grant_id}"},
		"notification": {create: [][2]string{{"POST /management/v1/users/{user_id}/password/_reset", `{}`}},
			answer: "notificationId"},
		"orgMember": {
			create: [][2]string{imported, {"POST /management/v1/orgs/me/members", `{"userId":"{user_id}",` +
				`"roles":["ORG_OWNER_VIEWER"]}`}}, remove: "DELETE /management/v1/orgs/me/members/{user_id}",
		},
		"projectMember": {create: [][2]string{
			imported, {"POST /management/v1/projects/{project_id}/members",
				`{"userId":"{user_id}","roles":["PROJECT_OWNER_VIEWER"]}`},
		},
			remove: "DELETE /management/v1/projects/{project_id}/members/{user_id}"},
		"iamMember": {
			create: [][2]string{
				imported, {"POST /admin/v1/members", `{"userId":"{user_id}","roles":["IAM_OWNER_VIEWER"]}`},
			}, remove: "DELETE /admin/v1/members/{user_id}", instance: true,
		},
		"idp": {
			create: [][2]string{{"POST /management/v1/idps/directory",
				`{"name":"{new}","clientId":"{new}","clientSecret":"{new}"}`}}, answer: "id",
			remove: "DELETE /management/v1/idps/{idp_id}",
		},
		"idpLink": {insert: linked + `'{user_id}')`,
			remove: "DELETE /management/v1/users/{user_id}/idps/{idp_id}/{external_user_id}"},
		"myIdpLink": {insert: linked + `'{caller}')`,
			remove: "DELETE /management/v1/users/{caller}/idps/{idp_id}/{external_user_id}"},
		"org": {create: [][2]string{{"POST /management/v1/orgs", `{"name":"{new}"}`}}, answer: "id", instance: true},
	}

	// references are the fields of bodies that name other objects.
	references = map[string]bool{
		"AddOrgMember.user_id": true, "AddProjectMember.user_id": true, "AddIamMember.user_id": true,
		"AddUserGrant.project_id": true,
	}

	// before are the requests that bring an object into the state that a method needs.
	before = map[string]string{
		"ReactivateUser":         "POST /management/v1/users/{user_id}/_deactivate",
		"UnlockUser":             "POST /management/v1/users/{user_id}/_lock",
		"RemovePhone":            "PUT /management/v1/users/{user_id}/phone",
		"ReactivateProject":      "POST /management/v1/projects/{project_id}/_deactivate",
		"ReactivateApp":          "POST /management/v1/projects/{project_id}/apps/{app_id}/_deactivate",
		"ReactivateProjectGrant": "POST /management/v1/projects/{project_id}/grants/{grant_id}/_deactivate",
		"ReactivateIdp":          "POST /management/v1/idps/{idp_id}/_deactivate",
		"RemoveMachineSecret":    "PUT /management/v1/users/{user_id}/secret",
		"ResetMessageText":       "PUT /management/v1/text/message/init/{language}",
	}

	// values are the values of other fields, by method and field or by field alone.
	values = map[string]string{
		"name": `"{new}"`, "AddRole.key": `"{new}"`, "AddRoles.roles": `[{"key":"{new}"}]`,
		"granted_org_id": `"{third}"`, "project_grant_id": `""`,
		"public_key": `"{publicKey}"`, "ImportHumanUser.user_id": `"{new}"`, "user_name": `"{new}"`, "role_keys": `[]`,
		"profile": `{"firstName":"Mini","lastName":"Mouse"}`, "email": `"{new}@example.com"`,
		"ResendInitialization.email": `""`,
		"ImportHumanUser.email":      `{"email":"{new}@example.com"}`,
		"CreateHumanUser.email":      `{"email":"{new}@example.com"}`,
		"first_name":                 `"Mini"`, "last_name": `"Mouse"`, "UpdatePhone.phone": `"+41791234567"`,
		"SetUserMetadata.key": `"{new}"`, "old_password": `"correct horse"`, "new_password": `"correct horse battery"`,
		"SetPassword.password": `"correct horse battery"`, "ImportHumanUser.password": `""`, "code": `"ABCDEFGH"`,
		"recipient": `"mini@example.com"`, "client_id": `"herald"`, "client_secret": `"{new}"`,
		"kind": `"init"`, "language": `"en"`, "subject": `"Welcome"`,
		"AddOrgMember.roles": `["ORG_OWNER_VIEWER"]`, "UpdateOrgMember.roles": `["ORG_USER_MANAGER"]`,
		"AddProjectMember.roles":    `["PROJECT_OWNER_VIEWER"]`,
		"UpdateProjectMember.roles": `["PROJECT_OWNER"]`, "AddIamMember.roles": `["IAM_OWNER_VIEWER"]`,
		"UpdateIamMember.roles": `["IAM_USER_MANAGER"]`,
	}
)

// languages are used once each, to write texts in them.
var languages = strings.Fields("bg cs de es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh")

// kindOf returns the kind of the object that a method's field names, or "" for other fields.
func kindOf(method, field string) string {
	named := func(part, then, otherwise string) string {
		if strings.Contains(method, part) {
			return then
		}
		return otherwise
	}
	switch field {
	case "project_id", "org_id", "idp_id":
		return strings.TrimSuffix(field, "_id")
	case "app_id":
		return named("Api", "apiApp", "oidcApp")
	case "key_id":
		return named("Machine", "machineKey", "appKey")
	case "key":
		return named("SetUserMetadata", "", named("Metadata", "metadata", "role"))
	case "grant_id":
		return named("UserGrant", "userGrant", "projectGrant")
	case "external_user_id":
		return named("My", "myIdpLink", "idpLink")
	case "token_id":
		return named("My", "myToken", "token")
	case "notification_id":
		return "notification"
	case "user_id":
		if strings.HasPrefix(method, "Add") {
			return named("Machine", "machine", "user")
		}
		return named("OrgMember", "orgMember", named("ProjectMember", "projectMember",
			named("IamMember", "iamMember", named("Machine", "machine", named("Otp", "otpUser", "user")))))
	}
	return ""
}

func kindsOf(m contract.Method, k string) bool {
	return slices.ContainsFunc(fieldsOf(m), func(f string) bool { return kindOf(string(m.Name()), f) == k })
}

// fieldsOf returns the fields of a method that name objects, the outermost first.
func fieldsOf(m contract.Method) (fields []string) {
	_, path, _ := contract.Route(m.Rules[0])
	for _, name := range contract.PathFields(path) {
		if kindOf(string(m.Name()), name) != "" {
			fields = append(fields, name)
		}
	}
	for i := range m.Input().Fields().Len() {
		if name := string(m.Input().Fields().Get(i).Name()); references[string(m.Name())+"."+name] {
			fields = append(fields, name)
		}
	}
	return fields
}

func verbAndPath(m contract.Method) string {
	verb, path, _ := contract.Route(m.Rules[0])
	return verb + " " + path
}

func reads(m contract.Method) bool {
	route := verbAndPath(m)
	return strings.HasPrefix(route, "GET ") || strings.HasSuffix(route, "/_search") ||
		strings.HasSuffix(route, "/_preview")
}

// visitor is a caller. project is the project that it owns, if that is not the one in its calls.
type visitor struct{ name, token, id, org, role, project string }

// site is an organization with objects. member owns every new project; home is a project that is
// never removed.
type site struct{ org, member, home, caller string }

// world is an instance with three organizations beside the first one: the callers' own, a foreign
// one to which none of them belongs, and a third one.
type world struct {
	*whole.Instance
	t            *testing.T
	own, foreign site
	third, home  string
	this         visitor
	db           map[string]*pgx.Conn
	querying     sync.Mutex // a connection runs one query at a time
	importing    sync.Mutex
	conn         *grpc.ClientConn
	client       *http.Client
	publicKey    string
	count, texts atomic.Int64
	places       map[string]map[place]map[string]string
	absent       sync.Map // of replies
	victims      []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server := whole.Postgres(t)
	i := whole.Start(t, "HERALD_DATABASE_URL="+server.TCP())
	w := &world{
		Instance: i, t: t, db: map[string]*pgx.Conn{}, conn: i.Dial(t),
		places: map[string]map[place]map[string]string{},
	}
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: attackers}}
	for _, service := range allinone.Names() {
		w.db[service] = whole.Database(t, server, service)
	}
	pair, err := secret.NewPairs(1, 1).Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.publicKey = base64.StdEncoding.EncodeToString(
		pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pair.Public}))
	_, me := w.Call("GET", "/auth/v1/users/me", "")
	w.home = me["user"].(map[string]any)["details"].(map[string]any)["resourceOwner"].(string)
	w.own, w.foreign, w.third = w.newSite(), w.newSite(), w.make(site{}, "org", nil, "org_id")
	w.this = w.visit("the project's owner", w.own.org, "", "")
	w.this.role, w.own.member = "PROJECT_OWNER", w.this.id
	return w
}

func (w *world) newSite() site {
	s := site{org: w.make(site{}, "org", nil, "org_id")}
	s.member = w.make(s, "user", nil, "user_id")
	s.home = w.make(s, "project", map[string]string{}, "project_id")
	s.caller = s.member
	return s
}

// visit makes a user of an organization with a token, and a role there, in the instance or on one of
// its projects.
func (w *world) visit(name, org, role, project string) visitor {
	s := site{org: org}
	v := visitor{name: name, id: w.make(s, "user", nil, "user_id"), org: org, role: role, project: project}
	if role != "" {
		in := "/management/v1/orgs/me"
		if project != "" {
			in = "/management/v1/projects/" + project
		} else if role == "IAM_OWNER" {
			in = "/admin/v1"
		}
		w.must(org, "POST "+in+"/members", fmt.Sprintf(`{"userId":%q,"roles":[%q]}`, v.id, role))
	}
	v.token = w.must(org, "POST /management/v1/users/"+v.id+"/pats", `{}`)["token"].(string)
	return v
}

// methods returns the methods that callers from outside reach with a token.
func (w *world) methods() (all []contract.Method) {
	methods, err := contract.AllMethods()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range methods {
		if len(m.Rules) > 0 && !m.Access.Public {
			all = append(all, m)
		}
	}
	return all
}

// objects returns the combinations of places for which a method is called.
func (w *world) objects(m contract.Method) (all []object) {
	fields, ids := fieldsOf(m), w.placed(m)
	o := object{fields: fields, at: -1, ids: ids[own]}
	all = append(all, o)
	if len(fields) == 0 {
		return all
	}
	lone := slices.ContainsFunc(fields, func(f string) bool { return references[string(m.Name())+"."+f] }) ||
		len(fields) == 1
	o.place, o.ids = foreign, ids[foreign]
	all = append(all, o)
	for n, f := range fields {
		k := kinds[kindOf(string(m.Name()), f)]
		for p, from := range ids {
			if p == own || p == sibling && lone || p.in(sibling, foreign) && k.instance ||
				p == removed && k.remove == "" {
				continue
			}
			with := maps.Clone(ids[own])
			if with[f] = from[f]; p == removed {
				with = ids[place(100+n)]
			}
			if p < 100 {
				all = append(all, object{fields, with, n, p})
			}
		}
	}
	return all
}

// placed makes objects for a method in every place, once for all methods with the same kinds of
// objects.
func (w *world) placed(m contract.Method) map[place]map[string]string {
	fields := fieldsOf(m)
	name := ""
	for _, f := range fields {
		name += kindOf(string(m.Name()), f) + " "
	}
	if found := w.places[name]; found != nil {
		return found
	}
	made := map[place]map[string]string{
		own: w.fresh(w.own, m), sibling: w.fresh(w.own, m), foreign: w.fresh(w.foreign, m), nowhere: {}, removed: {},
	}
	for n, f := range fields {
		made[nowhere][f] = "nowhere"
		k, s := kinds[kindOf(string(m.Name()), f)], w.own
		if k.remove == "" {
			continue
		}
		if n == 0 { // only its creator ever had a role on it
			s.member = w.make(w.own, "user", nil, "user_id")
		}
		gone := w.fresh(s, m)
		w.must(s.org, w.fill(s, gone, k.remove), "")
		made[place(100+n)] = gone
	}
	w.victims = append(w.victims, slices.Collect(maps.Values(made[foreign]))...)
	w.places[name] = made
	return made
}

// fresh makes new objects for a method.
func (w *world) fresh(s site, m contract.Method) map[string]string {
	ids := map[string]string{}
	for _, f := range fieldsOf(m) {
		ids[f] = w.make(s, kindOf(string(m.Name()), f), ids, f)
	}
	return ids
}

// settled waits until the foreign organization's mails are sent, after which nothing in it changes.
func (w *world) settled() {
	w.t.Helper()
	mails := 0
	for _, made := range w.places {
		if made[foreign]["notification_id"] != "" {
			mails++
		}
	}
	w.counts(mails, `org_id = $1 and due_at is null`, w.foreign.org)
}

// mailKnown waits until the service notification has a mail.
func (w *world) mailKnown(id string) { w.counts(1, `id = $1`, id) }

func (w *world) counts(want int, where, arg string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := -1; n != want; <-tick.C {
		w.querying.Lock()
		err := w.db["notification"].QueryRow(ctx, `select count(*) from notifications where `+where, arg).Scan(&n)
		w.querying.Unlock()
		if err != nil {
			w.t.Errorf("%d of %d mails are there: %v", n, want, err)
			return
		}
	}
}

// make makes an object within existing ones.
func (w *world) make(s site, name string, in map[string]string, field string) string {
	k, id := kinds[name], w.unique()
	if k.create == nil && k.insert == "" {
		w.t.Fatalf("how is a %q made, which %s names? Add to kinds in foreign_world_test.go the requests that make "+
			"and remove one", name, field)
	}
	ids := maps.Clone(in)
	if ids == nil {
		ids = map[string]string{}
	}
	if k.insert != "" {
		w.querying.Lock()
		_, err := w.db["users"].Exec(w.t.Context(), strings.ReplaceAll(w.fill(s, ids, k.insert), "{id}", id))
		w.querying.Unlock()
		if err != nil {
			w.t.Error(err)
		}
		return id
	}
	for n, step := range k.create {
		filled := func(template string) string { return strings.ReplaceAll(w.fill(s, ids, template), "{id}", id) }
		answer := w.must(s.org, filled(step[0]), filled(step[1]))
		if n > 0 {
			continue
		}
		switch {
		case k.answer != "":
			ids[field], _ = answer[k.answer].(string)
		case answer["userId"] != nil:
			ids[field] = answer["userId"].(string)
		default:
			ids[field] = id
		}
	}
	return ids[field]
}

func (w *world) unique() string { return fmt.Sprintf("n%06d", w.count.Add(1)) }

// fill replaces the names in a template by ids and new values.
func (w *world) fill(s site, ids map[string]string, template string) string {
	pairs := []string{"{new}", "{id}", "{member}", s.member, "{home}", s.home, "{caller}", s.caller, "{third}", w.third,
		"{publicKey}", w.publicKey}
	for f, id := range ids {
		pairs = append(pairs, "{"+f+"}", id)
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// prepare brings new objects and the organization into the state that a method needs.
func (w *world) prepare(s site, m contract.Method, ids map[string]string) {
	if id := ids["notification_id"]; id != "" {
		w.mailKnown(id)
	}
	if first, ok := before[string(m.Name())]; ok {
		w.must(s.org, w.fill(s, ids, first), `{"subject":"Welcome","phone":"+41791234567"}`)
	}
}

// must makes a request as the administrator in an organization, which must succeed.
func (w *world) must(org, route, body string) map[string]any {
	code, answer := w.post(org, route, body)
	if code != http.StatusOK {
		w.t.Errorf("%s %s answered %d %v", route, body, code, answer)
	}
	return answer
}

func (w *world) post(org, route, body string) (int, map[string]any) {
	r := w.send(w.Token, org, route, body)
	var answer map[string]any
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil {
		w.t.Errorf("%s answered %d %s", route, r.status, r.body)
	}
	return r.status, answer
}

// reply is an answer without values that differ from call to call.
type reply struct {
	status       int
	header, body string
}

func (r reply) fault(t *testing.T) *statuspb.Status {
	s := &statuspb.Status{}
	if err := protojson.Unmarshal([]byte(r.body), s); err != nil {
		t.Errorf("%d %s: %v", r.status, r.body, err)
	}
	return s
}

func (w *world) send(token, org, route, body string) reply {
	verb, path, _ := strings.Cut(route, " ")
	r, err := http.NewRequestWithContext(w.t.Context(), verb, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Errorf("%s: %v", route, err)
		return reply{}
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if org != "" {
		r.Header.Set("X-Service-Orgid", org)
	}
	answer, err := w.client.Do(r)
	if err != nil {
		w.t.Errorf("%s: %v", route, err)
		return reply{}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Errorf("%s: %v", route, err)
	}
	for _, name := range []string{"X-Request-Id", "Traceparent", "Date"} {
		answer.Header.Del(name)
	}
	var header bytes.Buffer
	_ = answer.Header.Write(&header)
	return reply{answer.StatusCode, header.String(), string(text)}
}

// message returns a valid request of a method for an object. It fails the test if a field has no
// value, and says where to add one.
func (w *world) message(m contract.Method, o object) *dynamicpb.Message {
	_, path, _ := contract.Route(m.Rules[0])
	bound := contract.PathFields(path)
	body := map[string]json.RawMessage{}
	id := w.unique()
	for i := range m.Input().Fields().Len() {
		f := m.Input().Fields().Get(i)
		name := string(f.Name())
		value, ok := values[string(m.Name())+"."+name]
		if !ok {
			value, ok = values[name]
		}
		switch named := o.ids[name]; {
		case named != "":
			value = fmt.Sprintf("%q", named)
		case !ok && (slices.Contains(bound, name) || strings.HasSuffix(name, "_id")):
			w.t.Fatalf("no request can be made for %s: what is %s? If it names an object, add the kind to kindOf (and "+
				"the field to references, where it stands in the body); if it is a value, add one to values: both in "+
				"foreign_world_test.go", m.FullName(), name)
		case !ok:
			continue
		}
		body[f.JSONName()] = json.RawMessage(strings.ReplaceAll(w.fill(w.own, nil, value), "{id}", id))
	}
	text, _ := json.Marshal(body)
	out := dynamicpb.NewMessage(m.Input())
	if err := protojson.Unmarshal(text, out); err != nil {
		w.t.Fatalf("no request can be made for %s: %s: %v", m.FullName(), text, err)
	}
	if err := contract.Validate(out); err != nil {
		w.t.Fatalf("no request can be made for %s: %s: %v. Add a value that the contract takes to values in "+
			"foreign_world_test.go, under \"%s.field\" or the field's name", m.FullName(), text, err, m.Name())
	}
	return out
}

func (w *world) rest(a attempt, o object) reply {
	verb, path, _ := contract.Route(a.Rules[0])
	m := w.message(a.Method, o)
	body, err := protojson.Marshal(m)
	if err != nil {
		w.t.Error(err)
	}
	for _, name := range contract.PathFields(path) {
		value := m.Get(a.Input().Fields().ByName(protoreflect.Name(name))).String()
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(value), 1)
	}
	if verb == http.MethodGet && a.Name() == "IsUserUnique" {
		path += "?userName=" + w.unique()
	}
	return w.send(a.token, a.header, verb+" "+path, string(body))
}

func (w *world) grpc(a attempt) *statuspb.Status {
	ctx := w.t.Context()
	if a.token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+a.token)
	}
	if a.header != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-service-orgid", a.header)
	}
	err := w.conn.Invoke(ctx, a.Procedure(), w.message(a.Method, a.object), dynamicpb.NewMessage(a.Output()))
	return grpcstatus.Convert(err).Proto()
}

func (w *world) web(a attempt) *statuspb.Status {
	client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](w.client, w.URL+a.Procedure(),
		append(whole.Described(a.MethodDescriptor), connect.WithGRPCWeb())...)
	asked := connect.NewRequest(w.message(a.Method, a.object))
	if a.token != "" {
		asked.Header().Set("Authorization", "Bearer "+a.token)
	}
	if a.header != "" {
		asked.Header().Set("X-Service-Orgid", a.header)
	}
	if _, err := client.CallUnary(w.t.Context(), asked); err != nil {
		return whole.ConnectStatus(err)
	}
	return &statuspb.Status{}
}
