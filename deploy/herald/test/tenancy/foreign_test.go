package tenancy_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
)

// attackers is the number of simultaneous calls.
const attackers = 12

// Every method, called by every visitor in every organization for objects in every place, answers as
// its contract says, over every protocol. The answer for an object of another organization is the
// same as for a missing one, and nothing that the other organization has is changed.
func TestForeignObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	methods := w.methods()
	w.place(methods)
	visitors, headers, namings := w.visitors(), w.headers(), w.namings()
	w.settled()
	w.plant()
	before, objects, refused, allowed := w.fingerprint(), 0, 0, 0
	var gifts []attempt
	all := w.digest()
	for _, m := range methods {
		tests, open := w.matrix(m, visitors, headers)
		for _, test := range tests {
			refused += test.refused
		}
		objects += len(tests[0].objects)
		allowed += len(open)
		gifts = append(gifts, w.gifts(open)...)
		each(tests, w.refuses)
		each(open, w.allows)
		if now := w.fingerprint(); now != before {
			t.Errorf("%s changed what another organization has: %s. Name the organization in the query that writes",
				m.Name(), difference(before, now))
			before = now
		}
	}
	owner := visitors[slices.IndexFunc(visitors, func(v visitor) bool { return v.name == "the organization's owner" })]
	w.rulesFirst(methods, owner)
	w.findsNothing(methods, owner)
	w.namesNothing(namings, owner)
	w.gives(gifts)
	w.ends()
	if now := w.digest(); now != all {
		t.Errorf("the calls changed what another organization has: %s", difference(all, now))
	}
	t.Logf("%d methods, %d callers, %d headers, %d objects: %d refused and %d allowed calls",
		len(methods), len(visitors), len(headers), objects, refused, allowed)
	if len(methods) < 140 || refused < 40_000 || allowed < 1_000 {
		t.Errorf("only %d refused and %d allowed calls of %d methods", refused, allowed, len(methods))
	}
}

// each calls do with all elements, a few at once.
func each[T any](all []T, do func(T)) {
	var busy sync.WaitGroup
	next := make(chan T)
	for range min(attackers, len(all)) {
		busy.Go(func() {
			for one := range next {
				do(one)
			}
		})
	}
	for _, one := range all {
		next <- one
	}
	close(next)
	busy.Wait()
}

// attempt is one call of the matrix.
type attempt struct {
	contract.Method
	visitor
	header header
	object object
}

func (a attempt) String() string {
	return fmt.Sprintf("%s by %s in %q on %s", a.Name(), a.visitor.name, a.header, a.object)
}

// row is all calls of one method by one visitor.
type row struct {
	contract.Method
	visitor
	headers  []header
	objects  []object
	requests []request // for the objects
	// statuses and replies are by header and object; what is allowed has no reply.
	statuses [][]int
	replies  [][]reply
	refused  int
	// shapes are the refusals of the method, by any visitor, that were compared over every protocol.
	shapes *sync.Map
}

// matrix returns the calls of a method, and of these the ones that are allowed.
func (w *world) matrix(m contract.Method, visitors []visitor, headers []header) (rows []*row, open []attempt) {
	objects, shapes := w.objects(m), &sync.Map{}
	var requests []request
	for _, o := range objects {
		requests = append(requests, w.request(m, o))
	}
	for _, v := range visitors {
		r := &row{
			Method: m, visitor: v, headers: headers, objects: objects, requests: requests, shapes: shapes,
			statuses: make([][]int, len(headers)), replies: make([][]reply, len(headers)),
		}
		for _, o := range w.selves(m, v) {
			r.objects, r.requests = append(slices.Clip(objects), o), append(slices.Clip(requests), w.request(m, o))
		}
		for h, in := range headers {
			for _, o := range r.objects {
				a := attempt{m, v, in, o}
				status := w.judge(a)
				r.statuses[h] = append(r.statuses[h], status)
				if status == http.StatusOK {
					open = append(open, a)
				} else {
					r.refused++
				}
			}
			r.replies[h] = make([]reply, len(r.objects))
		}
		rows = append(rows, r)
	}
	return rows, open
}

// judge returns the status that a call must have by the contract, in the order of the checks: token,
// organization, permission, escalation, fresh login, existence.
func (w *world) judge(a attempt) int {
	org, refusal := a.acted()
	switch {
	case a.visitor.refused:
		return http.StatusUnauthorized
	case refusal != 0:
		return refusal
	case a.Access.Permission != "" && !w.holds(a, org, a.Access.Permission):
		return http.StatusForbidden
	case a.object.roles != nil && w.site(a.object.place).org == org:
		if _, _, missing := caller.MissingPermission(a.visitor.roles, a.object.roles); missing {
			return http.StatusForbidden
		}
	case a.Access.FreshLogin && (a.Access.Authenticated || a.object.self):
		return http.StatusForbidden // the tokens here are no login
	}
	for _, name := range a.object.fields {
		if status := wrong[string(a.Name())+"."+name]; status != 0 && !w.present(a, org, name) {
			return status
		}
	}
	for _, name := range a.object.fields {
		if !w.present(a, org, name) {
			return http.StatusNotFound
		}
	}
	if a.object.place == sibling {
		return http.StatusNotFound
	}
	if more := further[string(a.Name())]; more != "" && !w.holds(a, org, more) {
		return http.StatusForbidden
	}
	return http.StatusOK
}

// present reports whether the object is in the place where the call looks for it.
func (w *world) present(a attempt, org, name string) bool {
	k := kindOf(string(a.Name()), name)
	switch place := a.object.of(name); {
	case place.in(nowhere, removed):
		return false
	case anywhere[string(a.Name())+"."+name] || kinds[k].instance:
		return true
	case k == "myToken", k == "myMembership":
		return place == own
	}
	return org == w.site(a.object.of(name)).org
}

// site returns where the objects in a place are.
func (w *world) site(p place) site {
	if p == foreign {
		return w.foreign
	}
	return w.own
}

// refuses makes the calls that must be refused, and compares the refusals with those for objects and
// organizations that do not exist.
func (w *world) refuses(r *row) {
	asked := map[string]bool{}
	for h := range r.headers {
		for o := range r.objects {
			want := r.statuses[h][o]
			if want == http.StatusOK {
				continue
			}
			a := attempt{r.Method, r.visitor, r.headers[h], r.objects[o]}
			got := w.rest(a, r.requests[o])
			r.replies[h][o] = got
			if got.status != want {
				w.t.Errorf("%s answered %d %s, not %d", a, got.status, got.body, want)
				continue
			}
			refusal := got.fault(w.t)
			id := fault.FromStatus(refusal).ID
			if !asked[id] {
				asked[id] = true
				w.alike(a, r.requests[o], refusal, r.shapes)
			}
		}
	}
	unknown := slices.IndexFunc(r.headers, func(h header) bool { return slices.Equal(h, header{unknownOrg}) })
	for h := range r.headers {
		for o := range r.objects {
			w.like(r, h, o, h, r.missing(o))
			a := attempt{r.Method, r.visitor, r.headers[h], r.objects[o]}
			if _, refusal := a.acted(); refusal == http.StatusForbidden {
				w.like(r, h, o, unknown, o)
			}
		}
	}
}

// missing returns the number of the object that is missing where another one is in the wrong place.
func (r *row) missing(n int) int {
	o := r.objects[n]
	if !o.place.in(foreign, removed, sibling) {
		return n
	}
	return slices.IndexFunc(r.objects, func(other object) bool {
		return other.place == nowhere && other.at == max(0, o.at)
	})
}

// like compares the refusal of a call with that of another one, for what does not exist.
func (w *world) like(r *row, h, o, absentHeader, absent int) {
	got, want := r.replies[h][o], r.replies[absentHeader][absent]
	if r.statuses[h][o] != r.statuses[absentHeader][absent] {
		return // the other one is refused for something else
	}
	if absentHeader != h {
		want.body = strings.ReplaceAll(want.body, unknownOrg, r.headers[h][0])
	}
	if got != want {
		w.t.Errorf("%s answered %v, and %v where there is none: the two must be the same",
			attempt{r.Method, r.visitor, r.headers[h], r.objects[o]}, got, want)
	}
}

// alike compares a refusal with those over the other protocols: over gRPC for each caller, over the
// others once for each method.
func (w *world) alike(a attempt, r request, want *statuspb.Status, shapes *sync.Map) {
	others := map[string]func() *statuspb.Status{"gRPC": func() *statuspb.Status { return w.grpc(a, r) }}
	if _, done := shapes.LoadOrStore(fault.FromStatus(want).ID, true); !done {
		others["gRPC-Web"] = func() *statuspb.Status { return w.connect(a, r, connect.WithGRPCWeb()) }
		others["Connect"] = func() *statuspb.Status { return w.connect(a, r) }
		others["Connect with JSON"] = func() *statuspb.Status { return w.connect(a, r, connect.WithProtoJSON()) }
	}
	for protocol, call := range others {
		if got := call(); !proto.Equal(got, want) {
			w.t.Errorf("%s: %s %v, REST %v", a, protocol, got, want)
		}
	}
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

// allows makes a call that must not be refused. One that writes gets new objects. Objects of the
// foreign organization are only read.
func (w *world) allows(a attempt) {
	org, _ := a.acted()
	writes := !reads(a.Method)
	if slices.Contains(turns, string(a.Name())) || writes && (org == w.foreign.org || a.object.roles != nil) {
		return
	}
	o, s := a.object, w.own
	s.caller = a.visitor.id
	if len(o.fields) == 0 || o.names("myToken", a.Method) || o.names("myMembership", a.Method) {
		s.org = org
	}
	switch {
	case o.place == own && (s.org == org || w.everywhere(a.Method)):
		if before[string(a.Name())] != "" && len(o.fields) == 0 {
			w.settings.Lock()
			defer w.settings.Unlock()
		}
		if writes || before[string(a.Name())] != "" {
			o.ids = w.fresh(s, a.Method)
			o.ids["language"] = languages[int(w.texts.Add(1))%len(languages)]
			w.prepare(s, a.Method, o.ids)
		}
	case writes:
		return // it would change objects of other calls
	}
	if a.Streamed {
		w.importing.Lock()
		defer w.importing.Unlock()
	}
	got := w.rest(a, w.request(a.Method, o))
	id, other := allowed[string(a.Name())]
	switch {
	case !other && got.status != http.StatusOK, other && got.status >= http.StatusInternalServerError,
		id != "" && !strings.Contains(got.body, `"`+id+`"`):
		w.t.Errorf("%s answered %d %s, want %s. If another call must come first, add it under %q to before in "+
			"foreign_kinds_test.go; if the state of the users here refuses it for good, add the id of its fault to "+
			"allowed in foreign_test.go; if it takes a further permission, add that to further in foreign_test.go; "+
			"if a value is missing, add it to values in foreign_kinds_test.go",
			a, got.status, got.body, cmp.Or(id, "200"), a.Name())
	case !a.visitor.instance():
		w.keepsOut(a, got)
	}
}

// keepsOut checks that an answer to a caller from outside names nothing of the foreign organization.
func (w *world) keepsOut(a attempt, got reply) {
	for part := range strings.SplitSeq(got.body, `"`) {
		if part == w.foreign.org || part != "" && slices.Contains(w.victims, part) {
			w.t.Errorf("%s answered %s, in which %s is of another organization. Name the organization in the query "+
				"that reads", a, got.body, part)
		}
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
// request (400) and not a missing object (404). It is refused first: the refusal does not tell whether there is the
// user of the path, who may be of any organization.
var wrong = map[string]int{"AddUserGrant.project_id": http.StatusBadRequest}

// further are permissions that a method takes beside the one in its contract, for objects such as
// those here.
var further = map[string]string{
	"ResendNotification": "user.credential.write", // the notifications are of mails for a new password
	"UpdateEmail":        "user.credential.write", // the addresses are verified
}

// allowed lists, by method, the fault of an allowed call that is refused by the state of its object
// only: the users here are active and verified.
var allowed = map[string]string{
	"ResendInitialization": "USER_NOT_INITIAL", "ResendEmailVerification": "EMAIL_ALREADY_VERIFIED",
	// The outcome of these depends on the caller's earlier calls.
	"ResendMyEmailVerification": "", "VerifyMyEmail": "", "AddMyOtp": "", "VerifyMyOtp": "",
}
