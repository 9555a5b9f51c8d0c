package tenancy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"herald/shared/contract"
	"herald/shared/testkit"
)

// Hostile requests to the methods of projects are refused before anything is written, or their
// values are stored as plain texts.
func TestHostileProjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner := w.visit("the owner", w.own.org, "ORG_OWNER", "")
	var methods []contract.Method
	for _, m := range w.methods() {
		if m.Owner() == "projects" {
			w.objects(m) // makes the objects before the changes are counted
			methods = append(methods, m)
		}
	}
	victim, written := w.digest(), w.written("projects")
	for _, m := range methods {
		w.unreadable(m, owner)
		w.oddPaths(m, owner)
	}
	w.forgedPages(methods, owner)
	w.nothings(methods, owner)
	if now := w.written("projects"); now != written {
		t.Errorf("%d changes were made", now-written)
	}
	w.literals(owner)
	for _, m := range methods {
		w.ignores(m, owner)
	}
	if now := w.digest(); now != victim {
		t.Errorf("what another organization has was changed: %s", difference(victim, now))
	}
	var evil int
	if err := w.db["projects"].QueryRow(t.Context(),
		`select (select count(*) from projects t where t::text like '%evil%') +
		(select count(*) from applications t where t::text like '%evil%')
		+ (select count(*) from events t where t::text like '%evil%')`).Scan(&evil); err != nil || evil > 0 {
		t.Errorf("%d rows say what only the service says: %v", evil, err)
	}
}

// written returns the number of changes in a service.
func (w *world) written(service string) (n int) {
	if err := w.db[service].QueryRow(w.t.Context(), `select count(*) from events`).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// text returns a method's request for own objects: its path, and its body without the closing brace.
func (w *world) text(m contract.Method, ids map[string]string) (route, body string) {
	verb, path, _ := contract.Route(m.Rules[0])
	fields := map[string]any{}
	text, err := protojson.Marshal(w.message(m, object{fields: fieldsOf(m), ids: ids, at: -1}))
	if err := errors.Join(err, json.Unmarshal(text, &fields)); err != nil {
		w.t.Fatal(err)
	}
	for _, name := range contract.PathFields(path) {
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(ids[name]), 1)
		delete(fields, m.Input().Fields().ByTextName(name).JSONName())
	}
	text, _ = json.Marshal(fields)
	return verb + " " + path, strings.TrimSuffix(string(text), "}")
}

// comma returns the separator between a body and what is added to it.
func comma(body string) string {
	if body == "{" {
		return ""
	}
	return ","
}

// unreadable sends bodies that are not JSON or not of the method's message.
func (w *world) unreadable(m contract.Method, owner visitor) {
	route, body := w.text(m, w.placed(m)[own])
	if strings.HasPrefix(route, "GET ") || strings.HasPrefix(route, "DELETE ") {
		return
	}
	more := body + comma(body)
	for what, text := range map[string]string{
		"a key twice":         more + `"zz":1,"zz":1}`,
		"a key twice, inside": more + `"zz":{"a":{"b":1,"b":2}}}`,
		"in two spellings":    more + `"projectId":"a","project_id":"a"}`,
		"not UTF-8":           more + "\"zz\":\"\xff\"}",
		"half a sign":         more + `"zz":"\ud800"}`,
		"deep objects":        more + `"zz":` + strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_001),
		"deep lists":          more + `"zz":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
		"two values":          body + "}{}",
		"half of it":          body,
		"a list":              "[" + body + "}]",
	} {
		for _, to := range []string{route, "POST " + m.Procedure()} {
			if what == "in two spellings" && m.Input().Fields().ByName("project_id") == nil {
				continue
			}
			got := w.send(owner.token, "", to, text)
			if strings.HasPrefix(to, "POST /herald.") { // Connect with JSON has other errors
				if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"invalid_argument"`) {
					w.t.Errorf("%s: %s answered %d %.300s", to, what, got.status, got.body)
				}
			} else if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"JSON_MALFORMED"`) &&
				!strings.Contains(got.body, "is given twice") {
				w.t.Errorf("%s: %s answered %d %.300s", to, what, got.status, got.body)
			}
		}
	}
}

// ignores sends values for fields that only the service sets. They have no effect.
func (w *world) ignores(m contract.Method, owner visitor) {
	ids := w.fresh(w.own, m)
	w.prepare(w.own, m, ids)
	route, body := w.text(m, ids)
	if strings.HasPrefix(route, "GET ") {
		return
	}
	body += comma(body)
	theirs := w.placed(m)[foreign]
	_, path, _ := contract.Route(m.Rules[0])
	for _, name := range contract.PathFields(path) {
		body += fmt.Sprintf("%q:%q,", m.Input().Fields().ByTextName(name).JSONName(), theirs[name])
	}
	body += `"details":{"sequence":"1","resourceOwner":"evil"},"state":2,"resourceOwner":"evil","isDefault":true,` +
		`"orgId":"` + w.foreign.org +
		`","org_id":"evil","id":"evil","clientId":"evil","clientSecret":"evil","generation":"9",` +
		`"evil":{"evil":["evil"]}}`
	if strings.HasPrefix(route, "DELETE ") {
		body = ""
	}
	got := w.send(owner.token, "", route, body)
	var answer struct {
		Details struct{ ResourceOwner, Sequence string }
	}
	err := json.Unmarshal([]byte(got.body), &answer)
	said := answer.Details.ResourceOwner == w.own.org && answer.Details.Sequence != "1"
	if got.status != http.StatusOK || err != nil || !said && !reads(m) {
		w.t.Errorf("%s %s answered %d %s", route, body, got.status, got.body)
	}
}

// forgedPages asks for impossible parts of lists.
func (w *world) forgedPages(methods []contract.Method, owner visitor) {
	for _, m := range methods {
		route, body := w.text(m, w.placed(m)[own])
		if !strings.HasSuffix(route, "/_search") {
			continue
		}
		for query, want := range map[string]int{
			`{"offset":-1}`: 400, `{"offset":"-1"}`: 400, `{"offset":1.5}`: 400, `{"offset":"1' or '1'='1"}`: 400,
			`{"offset":18446744073709551616}`: 400, `{"offset":"18446744073709551616"}`: 400, `{"offset":1e30}`: 400,
			`{"limit":-1}`: 400, `{"limit":"-9223372036854775808"}`: 400, `{"limit":9223372036854775808}`: 400,
			`{"limit":1.5}`: 400, `{"limit":1001}`: 400, `{"limit":"1; drop table projects"}`: 400,
			`{"asc":"true"}`: 400, `{"asc":2}`: 400, `[]`: 400,
			`{"offset":"18446744073709551615"}`: 200, `{"offset":9223372036854775807,"limit":"1000"}`: 200,
			`{"limit":0}`: 200, `null`: 200,
		} {
			got := w.send(owner.token, "", route, body+comma(body)+`"query":`+query+"}")
			empty := strings.Contains(got.body, `"result":[]`) || !strings.Contains(query, "offset")
			if got.status != want || want == 200 && !empty {
				w.t.Errorf("%s with %s answered %d %s", route, query, got.status, got.body)
			}
		}
	}
}

// nothings puts a NUL character into texts of requests. TestSearchesUseEachFilter does so with filters.
func (w *world) nothings(methods []contract.Method, owner visitor) {
	ids := w.placed(methods[slices.IndexFunc(methods, func(m contract.Method) bool {
		return m.Name() == "AddUserGrant"
	})])[own]
	user, project := ids["user_id"], ids["project_id"]
	for _, c := range [][2]string{
		{"POST /management/v1/users/" + user + "/grants", `{"projectId":"a\u0000b"}`},
		{"POST /management/v1/users/" + user + "/grants", `{"projectId":"` + project +
			`","projectGrantId":"a\u0000b"}`},
		{"POST /management/v1/users/" + user + "/grants", `{"projectId":"` + project + `","roleKeys":["a\u0000b"]}`},
		{"POST /management/v1/projects/" + project + "/grants", `{"grantedOrgId":"a\u0000b"}`},
		{"POST /management/v1/projects/" + project + "/grants", `{"grantedOrgId":"` + w.third +
			`","roleKeys":["a\u0000b"]}`},
		{"POST /management/v1/projects/" + project + "/roles", `{"key":"a\u0000b"}`},
		{"POST /management/v1/projects/" + project + "/apps/oidc",
			`{"name":"a","redirectUris":["https://a.example/\u0000"]}`},
		{"POST /management/v1/projects/" + project + "/apps/oidc",
			`{"name":"a","additionalOrigins":["https://a.example\u0000"]}`},
		{"POST /management/v1/projects/" + project + "/members", `{"userId":"a\u0000b","roles":["PROJECT_OWNER"]}`},
		{"POST /management/v1/projects/" + project + "/members", `{"userId":"` + user + `","roles":["a\u0000b"]}`},
		{"POST /management/v1/projects/" + project + "/members/_search",
			`{"queries":[{"userIdQuery":{"userId":"a\u0000b"}}]}`},
	} {
		if got := w.send(owner.token, "", c[0], c[1]); got.status >= 500 ||
			got.status == 200 && !strings.Contains(got.body, `"totalResult":"0"`) {
			w.t.Errorf("%s %s answered %d %s", c[0], c[1], got.status, got.body)
		}
	}
}

// literals searches, by each comparison, for characters with a meaning in SQL and in patterns.
func (w *world) literals(owner visitor) {
	names := []string{"100%", "100x", "a_b", "axb", `a\b`, "a'b", `a"b`, `a\%b`, "A_B", "'; drop table projects; --",
		"%", "_", `\`, "$1", "?"}
	project := w.make(w.own, "project", nil, "project_id")
	text := func(v string) string { b, _ := json.Marshal(v); return string(b) }
	for _, name := range names {
		w.must(w.own.org, "POST /management/v1/projects", `{"name":`+text(name)+`}`)
		w.must(w.own.org, "POST /management/v1/projects/"+project+"/roles", `{"key":`+text(name)+`,"displayName":`+
			text(name)+`}`)
		w.must(w.own.org, "POST /management/v1/projects/"+project+"/apps/api", `{"name":`+text(name)+`}`)
		granted, _ := w.must(w.third, "POST /management/v1/projects", `{"name":`+text(name)+`}`)["id"].(string)
		w.must(w.third, "POST /management/v1/projects/"+granted+"/grants", `{"grantedOrgId":"`+w.own.org+`"}`)
	}
	// In the order of the contract's numbers; every second one ignores case.
	methods := []func(string, string) bool{
		func(a, b string) bool { return a == b }, strings.HasPrefix, strings.Contains, strings.HasSuffix,
	}
	for _, s := range []struct{ path, filter, field, result string }{
		{"projects", "nameQuery", "name", "name"},
		{"granted_projects", "projectNameQuery", "projectName", "projectName"},
		{"projects/" + project + "/roles", "keyQuery", "key", "key"},
		{"projects/" + project + "/roles", "displayNameQuery", "displayName", "displayName"},
		{"projects/" + project + "/apps", "nameQuery", "name", "name"},
	} {
		for n := range 8 {
			for _, needle := range append(names, `%b`, "a_", `\\`, "%%", "x' or name like '%", "B") {
				var want, got []string
				for _, name := range names {
					a, b := name, needle
					if n%2 == 1 {
						a, b = strings.ToLower(a), strings.ToLower(b)
					}
					if methods[n/2](a, b) {
						want = append(want, name)
					}
				}
				body := fmt.Sprintf(`{"queries":[{%q:{%q:%s,"method":%d}}]}`, s.filter, s.field, text(needle), n)
				r := w.send(owner.token, "", "POST /management/v1/"+s.path+"/_search", body)
				var answer struct{ Result []map[string]any }
				err := json.Unmarshal([]byte(r.body), &answer)
				for _, found := range answer.Result {
					if name, _ := found[s.result].(string); slices.Contains(names, name) {
						got = append(got, name)
					} else if n < 2 {
						w.t.Errorf("%s %s found %q", s.path, body, name)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if err != nil || !slices.Equal(got, want) {
					w.t.Errorf("%s %s found %q, want %q: %d %v", s.path, body, got, want, r.status, err)
				}
			}
		}
	}
}

// oddPaths asks at other spellings of a method's path. None of them exists, over any protocol.
func (w *world) oddPaths(m contract.Method, owner visitor) {
	route, body := w.text(m, w.placed(m)[own])
	verb, path, _ := strings.Cut(route, " ")
	last := strings.LastIndex(path, "/")
	odd := []string{
		"/" + path, strings.Replace(path, "/v1/", "//v1/", 1), path[:last] + "/" + path[last:], path + "/", path +
			"//", path + "/.", path + "/..", path[:last] + "/." + path[last:],
		path[:last] + "/%2e%2e" + path[strings.LastIndex(path[:last], "/"):], path[:last] + "/x/.." +
			path[last:], "/x/.." + path,
		strings.Replace(path, "/v1/", "/v1;x/", 1), "/auth/..;" +
			path, strings.Replace(path, "/management/", "/Management/", 1), strings.Replace(path, "/v1/", "/V1/", 1),
		strings.Replace(path, "/v1/", "%2fv1/", 1), strings.Replace(path, "/", "\\", 2),
	}
	for _, p := range odd {
		got, location := w.raw(verb, p, owner.token, "application/json", body+"}")
		if got != http.StatusNotFound && !(got == http.StatusBadRequest && !strings.HasPrefix(p, "/")) ||
			location != "" {
			w.t.Errorf("%s %s answered %d, Location %q", verb, p, got, location)
		}
	}
	procedure, host := m.Procedure(), strings.TrimPrefix(w.URL, "http://")
	for _, p := range []string{
		"/" + procedure, procedure + "/", strings.ToUpper(procedure), strings.ToLower(procedure),
		strings.Replace(procedure, "/"+string(m.Name()), "//"+string(m.Name()), 1),
		"/x/.." + procedure, "/%2e" + procedure, procedure + ";x", strings.Replace(procedure, ".", "%2e", 1) +
			"/", "/management" + procedure,
	} {
		if got, _ := w.raw("POST", p, owner.token, "application/json", body+"}"); got != http.StatusNotFound {
			w.t.Errorf("POST %s answered %d", p, got)
		}
		if got := testkit.DialHTTP2(w.t, host).Call(p, owner.token); got.GRPCStatus != "12" && got.Status != "404" {
			w.t.Errorf("gRPC to %s answered %+v", p, got)
		}
	}
	// RFC 9113, 8.3.1: a path begins with a slash.
	got := testkit.DialHTTP2(w.t, host).Call(procedure[1:], owner.token)
	if got.Status == "200" && got.GRPCStatus != "12" {
		w.t.Errorf("gRPC to %s answered %+v", procedure[1:], got)
	}
}

// raw sends a path unchanged and returns the status and the header Location.
func (w *world) raw(verb, path, token, media, body string) (code int, location string) {
	r := &http.Request{
		Method: verb, URL: &url.URL{Scheme: "http", Host: strings.TrimPrefix(w.URL, "http://"), Opaque: path},
		Header: http.Header{},
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", media)
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	if strings.HasPrefix(path, "//") { // an opaque URL that begins with // would name a host
		r.URL.Opaque, r.URL.Path = "", path
	}
	answer, err := w.client.Transport.RoundTrip(r.WithContext(w.t.Context()))
	if err != nil {
		w.t.Errorf("%s %s: %v", verb, path, err)
		return 0, ""
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, answer.Header.Get("Location")
}
