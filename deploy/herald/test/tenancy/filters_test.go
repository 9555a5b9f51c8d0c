package tenancy_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// A search uses each filter of its contract. One that its method does not read would find everything: a text that
// nothing has must find nothing, and the values of an enum must find each object once.
func TestSearchesUseEachFilter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	granting := site{org: w.third, member: w.own.member, partner: w.own.org}
	in := ids{"project_id": w.make(granting, "project", nil, "project_id")}
	w.make(granting, "projectGrant", in, "grant_id")
	in = ids{"project_id": w.own.home, "user_id": w.own.member}
	for _, kind := range []string{"role", "oidcApp", "projectGrant", "userGrant", "idp", "orgMember"} {
		w.make(w.own, kind, in, "made")
	}
	filters := 0
	for _, m := range w.methods() {
		queries := m.Input().Fields().ByName("queries")
		if queries == nil {
			continue
		}
		route, body := w.text(m, in)
		total := func(query string) int {
			return w.total(route, body+comma(body)+fmt.Sprintf(`"queries":[%s]}`, query))
		}
		all := total("")
		if all == 0 {
			t.Errorf("%s finds nothing without filters: make an object of its kind in this test", m.Name())
		}
		for i := range queries.Message().Fields().Len() {
			query := queries.Message().Fields().Get(i)
			filters++
			t.Run(string(m.Name())+" "+query.JSONName(), func(t *testing.T) {
				values, want := w.filtered(query, all)
				got := 0
				for _, value := range values {
					got += total(value)
				}
				if got != want {
					t.Errorf("%v find %d of %d objects, want %d: read the filter in the method", values, got, all, want)
				}
			})
		}
	}
	if filters < 29 {
		t.Errorf("only %d filters were seen", filters)
	}
}

// unfound are texts that no object has: a plain one, one that Postgres cannot store, and one that is SQL.
var unfound = []string{`nothing has this`, `a\u0000b`, `' or '1'='1`}

// filtered returns filters by one field of the contract, and how many of all objects they find together. A text is
// compared by each method of comparison.
func (w *world) filtered(query protoreflect.FieldDescriptor, all int) (filters []string, want int) {
	fields := query.Message().Fields()
	field, method := fields.Get(0), fields.ByName("method")
	filter := func(value string) {
		filters = append(filters, fmt.Sprintf(`{%q:{%q:%s}}`, query.JSONName(), field.JSONName(), value))
	}
	switch field.Kind() {
	case protoreflect.StringKind:
		for _, text := range unfound {
			filter(`"` + text + `"`)
			for i := range numbers(method) {
				filter(fmt.Sprintf(`"%s","method":%d`, text, i))
			}
		}
		return filters, 0
	case protoreflect.EnumKind:
		for i := 1; i < numbers(field); i++ { // the first one is unspecified
			filter(strconv.Itoa(i))
		}
		return filters, all
	default:
		w.t.Fatalf("%s has another type than a text or an enum: say here what finds nothing", field.FullName())
		return nil, 0
	}
}

// numbers returns how many values an enum has; zero without a field.
func numbers(field protoreflect.FieldDescriptor) int {
	if field == nil {
		return 0
	}
	return field.Enum().Values().Len()
}

// total returns how many objects a search finds. A text that Postgres cannot store may be refused.
func (w *world) total(route, body string) int {
	got := w.send(w.Token, w.own.org, route, body)
	if got.status == http.StatusBadRequest && strings.Contains(body, `\u0000`) {
		return 0
	}
	var answer struct {
		Details struct {
			TotalResult int `json:",string"`
		}
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.status != http.StatusOK {
		w.t.Errorf("%s %s answered %d %s: %v", route, body, got.status, got.body, err)
	}
	return answer.Details.TotalResult
}
