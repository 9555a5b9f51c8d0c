package tenancy_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/contract"
)

// unknownOrg is a valid id of an organization that does not exist.
const unknownOrg = "01900000-0000-7000-8000-000000000000"

// attackers is the number of simultaneous calls.
const attackers = 12

// visitors are the callers of the matrix. Their roles are in their own organization. The owner of one
// project also calls methods on other projects.
func (w *world) visitors() []visitor {
	return []visitor{
		{name: "nobody"},
		w.visit("a user without roles", w.own.org, "", ""),
		w.visit("a viewer", w.own.org, "ORG_OWNER_VIEWER", ""),
		w.visit("the owner of another project", w.own.org, "PROJECT_OWNER", w.own.home),
		w.this,
		w.visit("the organization's owner", w.own.org, "ORG_OWNER", ""),
		w.visit("another organization's owner", w.third, "ORG_OWNER", ""),
		w.visit("the instance's owner", w.home, "IAM_OWNER", ""),
	}
}

// Every method, called by every visitor for objects in every place, answers as its contract says,
// over every protocol. The answer for an object of another organization is the same as for a
// missing one.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	visitors, methods := w.visitors(), w.methods()
	refused, allowed := w.attempts(methods, visitors)
	w.settled()
	before := w.digest()
	w.each(refused, w.refuses)
	w.rulesFirst(methods, visitors[5])
	if after := w.digest(); after != before {
		t.Errorf("refused calls changed what another organization has: %s", difference(before, after))
	}
	w.each(allowed, w.allows)
	w.ends()
	if after := w.digest(); after != before {
		t.Errorf("allowed calls changed what another organization has: %s", difference(before, after))
	}
	t.Logf("%d refused and %d allowed calls of %d methods", len(refused), len(allowed), len(methods))
	if len(methods) < 70 || len(refused) < 5000 {
		t.Errorf("only %d calls of %d methods", len(refused), len(methods))
	}
}

// attempts returns the calls of methods by visitors, by whether they must be refused.
func (w *world) attempts(methods []contract.Method, visitors []visitor) (refused, allowed []attempt) {
	for _, m := range methods {
		objects := w.objects(m)
		w.message(m, objects[0])
		for _, o := range objects {
			for _, v := range visitors {
				for _, header := range []string{"", w.own.org, w.foreign.org, unknownOrg} {
					if a := (attempt{m, v, header, o}); w.judge(a) == http.StatusOK {
						allowed = append(allowed, a)
					} else {
						refused = append(refused, a)
					}
				}
			}
		}
	}
	return refused, allowed
}

func (w *world) each(all []attempt, do func(int, attempt)) {
	var busy sync.WaitGroup
	next := make(chan int)
	for range attackers {
		busy.Go(func() {
			for n := range next {
				do(n, all[n])
			}
		})
	}
	for n := range all {
		next <- n
	}
	close(next)
	busy.Wait()
}

// attempt is one call of the matrix.
type attempt struct {
	contract.Method
	visitor
	header string
	object object
}

func (a attempt) String() string {
	return fmt.Sprintf("%s by %s in %q on %s", a.Name(), a.visitor.name, a.header, a.object)
}

// acted returns the organization that a call acts on, or the fault if the header must be refused.
func (w *world) acted(a attempt) (org string, refusal int) {
	switch {
	case a.header == "" || a.header == a.visitor.org:
		return a.visitor.org, 0
	case a.role != "IAM_OWNER":
		return "", http.StatusForbidden
	case a.header == unknownOrg:
		return "", http.StatusNotFound
	case !strings.Contains(verbAndPath(a.Method), " /management/"):
		return a.visitor.org, 0
	}
	return a.header, 0
}

// judge returns the status that a call must have by the documentation.
func (w *world) judge(a attempt) int {
	org, refusal := w.acted(a)
	switch {
	case a.token == "":
		return http.StatusUnauthorized
	case refusal != 0:
		return refusal
	case a.Access.Permission != "" && !w.holds(a, org):
		return http.StatusForbidden
	}
	if a.Access.Authenticated && a.Access.FreshLogin && len(a.object.fields) > 0 {
		return http.StatusForbidden // the tokens here are no login
	}
	for _, name := range a.object.fields {
		if !w.present(a, org, name) {
			return cmp.Or(wrong[string(a.Name())+"."+name], http.StatusNotFound)
		}
	}
	if a.object.place == sibling {
		return http.StatusNotFound
	}
	return http.StatusOK
}

// holds reports whether a role has a permission, as decided for these roles.
func (w *world) holds(a attempt, org string) bool {
	p := a.Access.Permission
	switch instance := strings.HasPrefix(p, "iam."); a.role {
	case "IAM_OWNER":
		return true
	case "ORG_OWNER":
		return org == a.visitor.org && !instance && p != "org.create"
	case "ORG_OWNER_VIEWER":
		return org == a.visitor.org && !instance && strings.HasSuffix(p, ".read")
	case "PROJECT_OWNER":
		its := a.Access.Project != "" && a.visitor.project == "" && a.object.of(a.Access.Project).in(own, sibling)
		return org == a.visitor.org && its && strings.HasPrefix(p, "project.") && p != "project.create"
	}
	return false
}

// present reports whether the object is in the place where the call looks for it.
func (w *world) present(a attempt, org, name string) bool {
	k := kindOf(string(a.Name()), name)
	switch place := a.object.of(name); {
	case place.in(nowhere, removed):
		return false
	case anywhere[string(a.Name())+"."+name] || kinds[k].instance:
		return true
	case k == "myToken":
		return place == own
	case place == foreign:
		return org == w.foreign.org
	}
	return org == w.own.org
}

// refuses makes a call that must be refused, and compares the refusal with the one for an object that
// does not exist.
func (w *world) refuses(n int, a attempt) {
	got := w.rest(a, a.object)
	want := w.judge(a)
	if got.status != want {
		w.t.Errorf("%s answered %d %s, not %d", a, got.status, got.body, want)
	}
	if a.object.place.in(foreign, removed, sibling) && len(a.object.fields) > 0 {
		absent := a.object
		absent.place, absent.at = nowhere, max(0, absent.at)
		absent.ids = maps.Clone(w.placed(a.Method)[own])
		absent.ids[absent.fields[absent.at]] = "nowhere"
		if like := w.once(a, absent); w.judge(attempt{a.Method, a.visitor, a.header, absent}) == want && like != got {
			w.t.Errorf("%s answered %v, and where there is none %v", a, got, like)
		}
	}
	if _, refusal := w.acted(a); refusal == http.StatusForbidden && a.token != "" {
		other := a
		other.header = unknownOrg
		like := w.rest(other, a.object)
		if like.body = strings.ReplaceAll(like.body, unknownOrg, a.header); like != got {
			w.t.Errorf("%s answered %v, and in an unknown organization %v", a, got, like)
		}
	}
	w.alike(n, a, got)
}

// once makes a call for an object that does not exist, and caches the answer.
func (w *world) once(a attempt, absent object) reply {
	key := fmt.Sprint(a.Name(), a.visitor.name, a.header, absent)
	if known, ok := w.absent.Load(key); ok {
		return known.(reply)
	}
	got := w.rest(a, absent)
	w.absent.Store(key, got)
	return got
}

// rulesFirst makes an invalid call for an object that does not exist. The answer must be the fault
// of the first check.
func (w *world) rulesFirst(methods []contract.Method, owner visitor) {
	nowhere := func(m contract.Method) string {
		verb, path, _ := contract.Route(m.Rules[0])
		for _, name := range contract.PathFields(path) {
			path = strings.Replace(path, "{"+name+"}", "nowhere", 1)
		}
		return verb + " " + path
	}
	for _, m := range methods {
		var body string
		switch {
		case !strings.Contains(verbAndPath(m), " /management/"):
			continue
		case m.Name() == "AddProjectMember", m.Name() == "UpdateProjectMember", m.Name() == "UpdateOrgMember":
			body = `{"userId":"nowhere","roles":["NOBODY"]}`
		case strings.HasSuffix(verbAndPath(m), "/_search") && m.Input().Fields().ByName("query") != nil:
			body = `{"query":{"limit":1001}}`
		default:
			continue
		}
		if got := w.send(owner.token, "", nowhere(m), body); got.status != http.StatusBadRequest {
			w.t.Errorf("%s with %s answered %d %s", nowhere(m), body, got.status, got.body)
		}
	}
}

// alike compares an answer with the answers over the other protocols.
func (w *world) alike(n int, a attempt, got reply) {
	if got.status == http.StatusOK {
		return
	}
	want := got.fault(w.t)
	if s := w.grpc(a); !proto.Equal(s, want) {
		w.t.Errorf("%s: gRPC %v, REST %v", a, s, want)
	}
	if n%10 == 0 {
		if s := w.web(a); !proto.Equal(s, want) {
			w.t.Errorf("%s: gRPC-Web %v, REST %v", a, s, want)
		}
	}
}

// allows makes a call that must not be refused, on new objects. It only reads objects of the foreign
// organization.
func (w *world) allows(_ int, a attempt) {
	org, _ := w.acted(a)
	if slices.Contains(turns, string(a.Name())) || org == w.foreign.org && !reads(a.Method) {
		return
	}
	o, s := a.object, w.own
	s.caller = a.visitor.id
	if len(o.fields) == 0 || kindsOf(a.Method, "myToken") {
		s.org = org
	}
	if o.place == own && (s.org == org || w.everywhere(a.Method)) {
		o.ids = w.fresh(s, a.Method)
		o.ids["language"] = languages[int(w.texts.Add(1))%len(languages)]
		w.prepare(s, a.Method, o.ids)
	} else if !reads(a.Method) {
		return // it would change objects of other calls
	}
	if a.Streamed { // a caller has two imports at once at most
		w.importing.Lock()
		defer w.importing.Unlock()
	}
	got := w.rest(a, o)
	id, other := allowed[string(a.Name())]
	switch {
	case !other && got.status != http.StatusOK, other && got.status >= http.StatusInternalServerError,
		id != "" && !strings.Contains(got.body, `"`+id+`"`):
		w.t.Errorf("%s answered %d %s, want %s. If another call must come first, add it under %q to before in "+
			"foreign_world_test.go; if the state of the users here refuses it for good, add the id of its fault to "+
			"allowed in foreign_test.go; if a value is missing, add it to values in foreign_world_test.go",
			a, got.status, got.body, cmp.Or(id, "200"), a.Name())
	}
}

// everywhere reports whether a method works for objects in every place.
func (w *world) everywhere(m contract.Method) bool {
	return !slices.ContainsFunc(fieldsOf(m), func(f string) bool {
		return !anywhere[string(m.Name())+"."+f] && !kinds[kindOf(string(m.Name()), f)].instance
	})
}

// turns are methods after which others do not work; they are called last.
var turns = []string{"DeactivateMyOrg", "ReactivateMyOrg", "RemoveMyOrg"}

func (w *world) ends() {
	for _, route := range []string{
		"POST /management/v1/orgs/me/_deactivate", "POST /management/v1/orgs/me/_reactivate",
		"DELETE /management/v1/orgs/me",
	} {
		if status, answer := w.post(w.own.org, route, `{}`); status != http.StatusOK {
			w.t.Errorf("%s answered %d %v", route, status, answer)
		}
	}
}

// anywhere are references to users of any organization: they get roles, but nothing of them is read
// or changed.
var anywhere = map[string]bool{
	"AddOrgMember.user_id": true, "AddProjectMember.user_id": true, "AddIamMember.user_id": true,
	"AddUserGrant.user_id": true,
}

// wrong are references in bodies to other objects than the call's own. An unknown one is an invalid
// request (400) and not a missing object (404).
var wrong = map[string]int{"AddUserGrant.project_id": http.StatusBadRequest}

// allowed lists, by method, the fault of an allowed call that is refused by the state of its object
// only: the users here are active and verified, and their tokens are no login.
var allowed = map[string]string{
	"ResendInitialization": "USER_NOT_INITIAL", "ResendEmailVerification": "EMAIL_VERIFIED",
	"AddMyPersonalAccessToken": "FRESH_LOGIN_REQUIRED", "UpdateMyPassword": "FRESH_LOGIN_REQUIRED",
	"UpdateMyEmail": "FRESH_LOGIN_REQUIRED",
	"RemoveMyOtp":   "FRESH_LOGIN_REQUIRED", "RegenerateMyRecoveryCodes": "FRESH_LOGIN_REQUIRED",
	// The outcome of these depends on the caller's earlier calls.
	"ResendMyEmailVerification": "", "VerifyMyEmail": "", "AddMyOtp": "", "VerifyMyOtp": "",
}
