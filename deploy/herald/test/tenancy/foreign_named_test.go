package tenancy_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/deploy/herald/test/whole"
	"herald/shared/contract"
)

// search is a search for what has an id in some field.
type search struct{ route, body string }

// findsNothing searches an organization by everything that is the foreign one's, with every filter
// that takes an id. It finds nothing.
func (w *world) findsNothing(methods []contract.Method, owner visitor) {
	theirs := w.theirs()
	slices.Sort(theirs)
	theirs = slices.DeleteFunc(slices.Compact(theirs), func(id string) bool { return id == "" })
	var all []search
	filters := 0
	for _, m := range methods {
		queries := m.Input().Fields().ByName("queries")
		if queries == nil || strings.HasPrefix(m.Access.Permission, "iam.") {
			continue
		}
		route := w.request(m, w.objects(m)[0]).route
		for i := range queries.Message().Fields().Len() {
			query := queries.Message().Fields().Get(i)
			for _, name := range idsOf(query) {
				filters++
				for _, id := range theirs {
					body := fmt.Sprintf(`{"queries":[{%q:{%q:%q}}]}`, query.JSONName(), name, id)
					all = append(all, search{route, body})
				}
			}
		}
	}
	each(all, func(s search) {
		got := w.send(owner.token, "", s.route, s.body)
		if got.status != http.StatusOK || !strings.Contains(got.body, `"totalResult":"0"`) {
			w.t.Errorf("%s with %s answered %d %s. Name the organization in the query that searches",
				s.route, s.body, got.status, got.body)
		}
	})
	if filters < 6 {
		w.t.Errorf("only %d filters take an id", filters)
	}
	w.t.Logf("%d searches by %d filters", len(all), filters)
}

// idsOf returns the names in JSON of the fields of a query that take an id.
func idsOf(query protoreflect.FieldDescriptor) (names []string) {
	if query.Message() == nil {
		return nil
	}
	for i := range query.Message().Fields().Len() {
		f := query.Message().Fields().Get(i)
		name := string(f.Name())
		if f.Kind() == protoreflect.StringKind &&
			(strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_owner")) {
			names = append(names, f.JSONName())
		}
	}
	return names
}

// naming is a request that names an object deep in its body, where the matrix does not.
type naming struct{ route, body, theirs string }

// namings returns such requests, with %s for the id and the one of the foreign organization's object.
func (w *world) namings() []naming {
	user := w.make(w.own, "user", nil, "user_id")
	project := w.make(w.foreign, "project", nil, "project_id")
	grant := w.make(w.foreign, "projectGrant", ids{"project_id": project}, "grant_id")
	idp := w.make(w.foreign, "idp", nil, "idp_id")
	linked := strings.Replace(whole.Person("named"), `{`, `{"idps":[{"configId":"%s","externalUserId":"x"}],`, 1)
	granted := "POST /management/v1/users/" + user + "/grants"
	const bulk = "POST /admin/v1/import"
	return []naming{
		{bulk, `{"dataOrgs":{"orgs":[{"orgId":"%s","humanUsers":[{"userId":"x","user":{}}]}]}}`, w.foreign.org},
		{bulk, `{"dataOrgs":{"orgs":[{"humanUsers":[{"userId":"x"}],"orgId":"%s"}]}}`, w.foreign.org},
		{bulk, `{"dataOrgs":{"orgs":[{"orgId":"%s","org":{"name":"Theirs"}}]}}`, w.foreign.org},
		{bulk + "/_check", `{"dataOrgs":{"orgs":[{"orgId":"%s","humanUsers":[{"userId":"x"}]}]}}`, w.foreign.org},
		{imported[0], linked, idp},
		{granted, `{"projectId":"` + project + `","projectGrantId":"%s"}`, grant},
		{granted, `{"projectId":"%s"}`, project},
	}
}

// namesNothing names objects of the foreign organization, and with an id as long objects that do not
// exist. Both are refused alike.
func (w *world) namesNothing(all []naming, owner visitor) {
	for _, n := range all {
		theirs := w.send(owner.token, "", n.route, fmt.Sprintf(n.body, n.theirs))
		none := w.send(owner.token, "", n.route, fmt.Sprintf(n.body, unknownOrg))
		theirs.body = strings.ReplaceAll(theirs.body, n.theirs, unknownOrg)
		if theirs != none || none.status < http.StatusBadRequest || none.status >= http.StatusInternalServerError {
			w.t.Errorf("%s with %s answered %v, and %v where there is none: both must be refused alike",
				n.route, n.body, theirs, none)
		}
	}
}
