package users_test

import (
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func TestSearchFindsUsersThatMatchAllFilters(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	ids := []string{w.Person(inA, "anna"), w.Person(inA, "Åsa_1"), w.Person(inA, "bob%")}
	const (
		equals          = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS
		equalsAnyCase   = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_EQUALS_IGNORE_CASE
		starts          = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH
		startsAnyCase   = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE
		contains        = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_CONTAINS
		containsAnyCase = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_CONTAINS_IGNORE_CASE
		ends            = heraldv1.TextQueryMethod_TEXT_QUERY_METHOD_ENDS_WITH
	)
	type user = usersv1.UserFilter
	name := func(method heraldv1.TextQueryMethod, text string) *user {
		return &user{UserNameQuery: &usersv1.UserNameQuery{UserName: text, Method: method}}
	}
	for label, c := range map[string]struct {
		filters []*user
		want    []int
	}{
		"all, newest first":  {nil, []int{2, 1, 0}},
		"equals":             {[]*user{name(equals, "anna")}, []int{0}},
		"equals, other case": {[]*user{name(equals, "ANNA")}, nil},
		"ignoring case":      {[]*user{name(equalsAnyCase, "A\u030aSA_1")}, []int{1}},
		"starts":             {[]*user{name(starts, "a")}, []int{0}},
		"starts anyhow":      {[]*user{name(startsAnyCase, "A")}, []int{0}},
		"contains percent":   {[]*user{name(contains, "%")}, []int{2}},
		"contains underline": {[]*user{name(containsAnyCase, "A_")}, []int{1}},
		"ends":               {[]*user{name(ends, "b%")}, []int{2}},
		"empty contains all": {[]*user{name(contains, "")}, []int{2, 1, 0}},
		"empty equals none":  {[]*user{name(equals, "")}, nil},
		"and": {[]*user{name(contains, "a"), {EmailQuery: &usersv1.EmailQuery{Email: "mini@example.com"},
			TypeQuery: &usersv1.UserTypeQuery{Type: usersv1.UserType_USER_TYPE_HUMAN}}}, []int{1, 0}},
		"state": {[]*user{{StateQuery: &usersv1.UserStateQuery{State: usersv1.UserState_USER_STATE_INITIAL}}}, nil},
	} {
		t.Run(label, func(t *testing.T) {
			got, err := w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Queries: c.filters})
			if err != nil || len(got.Result) != len(c.want) || got.Details.TotalResult != uint64(len(c.want)) {
				t.Fatalf("%v, %v", got, err)
			}
			for i, n := range c.want {
				if got.Result[i].Id != ids[n] {
					t.Errorf("result %d is %s", i, got.Result[i].UserName)
				}
			}
		})
	}
	page, err := w.Gateway.SearchUsers(inA,
		&usersv1.SearchUsersRequest{Query: &heraldv1.ListQuery{Offset: 10, Limit: 1, Asc: true}})
	if err != nil || len(page.Result) != 0 || page.Details.TotalResult != 3 || page.Details.ProcessedSequence == 0 ||
		page.Details.ViewTimestamp == nil {
		t.Errorf("a page beyond the end: %v, %v", page, err)
	}
	_, err = w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Queries: []*user{{}}})
	testkit.Refused(t, err, "INVALID_ARGUMENT", "queries[0]")
	_, err = w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Query: &heraldv1.ListQuery{Limit: 1001}})
	testkit.Refused(t, err, "LIMIT_EXCEEDED", "1000")
	_, err = w.Gateway.SearchUsers(inA, &usersv1.SearchUsersRequest{Query: &heraldv1.ListQuery{Limit: -1}})
	testkit.Refused(t, err, "INVALID_ARGUMENT", "query.limit")
}
