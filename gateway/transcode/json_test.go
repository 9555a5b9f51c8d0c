package transcode

import (
	"errors"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

const malformed = "-"

// decoding is a body with the path of its wrong field: malformed if the whole body is wrong, empty if none is.
type decoding struct {
	m          proto.Message
	body, flaw string
}

func TestDecodeDocuments(t *testing.T) {
	t.Parallel()
	search := &usersv1.SearchUsersRequest{}
	decode(t, []decoding{
		{search, ``, ""},
		{search, `{}`, ""},
		{search, " {\t}\r\n", ""},
		{search, `{"query":{"limit":"10","offset":20}}`, ""},
		{search, `{"query":{"limit":-0}}`, ""},
		{search, `{"query":null,"queries":null}`, ""},
		{search, `{"unknown":{"deep":[1e9,{"x":null}]}}`, ""},
		{search,
			`{"queries":[{"user_name_query":{"userName":"\u0041\ud83d\ude00",` +
				`"method":"TEXT_QUERY_METHOD_STARTS_WITH"}}]}`, ""},
		{search, `{"queries":[{"userNameQuery":{"method":2}},{"stateQuery":{"state":"USER_STATE_ACTIVE"}}]}`, ""},
		{search, `{"unknown":` + nest(MaxDepth-1) + `}`, ""},

		{search, ` `, malformed},
		{search, `null`, malformed},
		{search, `[]`, malformed},
		{search, `"x"`, malformed},
		{search, `{}{}`, malformed},
		{search, `{},`, malformed},
		{search, `{"a":1,}`, malformed},
		{search, `{a:1}`, malformed},
		{search, `{'a':1}`, malformed},
		{search, `{"a":01}`, malformed},
		{search, `{"a":NaN}`, malformed},
		{search, "\ufeff{}", malformed},
		{search, "{\"a\":\"\xed\xa0\x80\"}", malformed},
		{search, "{\"a\xff\":1}", malformed},
		{search, "{\"a\":[{\"b\":\"\xff\"}]}", malformed},
		{search, `{"a":"\ud800"}`, malformed},
		{search, "{\"a\":\"\n\"}", malformed},
		{search, `{"unknown":` + nest(MaxDepth) + `}`, malformed},
		{search, `{"unknown":` + nest(10_000) + `}`, malformed},
		{search, `{"unknown":` + nest(100_000) + `}`, malformed},
		{search, `{"a":{"b":1,"b":1}}`, malformed},
		{search, `{"a":1,"\u0061":1}`, malformed},
	})
}

func TestDecodeFields(t *testing.T) {
	t.Parallel()
	search := &usersv1.SearchUsersRequest{}
	decode(t, []decoding{
		{search, `{"query":{},"query":{}}`, "query"},
		{search, `{"query":{"limit":1e1,"offset":"1.0"}}`, ""},
		{search, `{"query":{"limit":1.5}}`, "query.limit"},
		{search, `{"query":{"limit":"1e-1"}}`, "query.limit"},
		{search, `{"query":{"limit":1e99}}`, "query.limit"},
		{search, `{"query":{"limit":1e99999999999}}`, "query.limit"},
		{search, `{"query":{"limit":true}}`, "query.limit"},
		{search, `{"query":{"limit":[1]}}`, "query.limit"},
		{search, `{"query":{"limit":""}}`, "query.limit"},
		{search, `{"query":{"limit":9223372036854775808}}`, "query.limit"},
		{search, `{"query":{"offset":-1}}`, "query.offset"},
		{search, `{"query":{"offset":"18446744073709551616"}}`, "query.offset"},
		{search, `{"query":{"asc":"true"}}`, "query.asc"},
		{search, `{"query":[]}`, "query"},
		{search, `{"queries":{}}`, "queries"},
		{search, `{"queries":[null]}`, "queries[0]"},
		{search, `{"queries":[{},{"userNameQuery":{"userName":1}}]}`, "queries[1].userNameQuery.userName"},
		{search, `{"queries":[{"userNameQuery":{},"user_name_query":{}}]}`, "queries[0].userNameQuery"},
		{search, `{"queries":[{"userNameQuery":{"method":"EQUALS"}}]}`, "queries[0].userNameQuery.method"},
		{search, `{"queries":[{"userNameQuery":{"method":"0"}}]}`, "queries[0].userNameQuery.method"},
		{search, `{"queries":[{"userNameQuery":{"method":8}}]}`, "queries[0].userNameQuery.method"},
		{search, `{"queries":[{"userNameQuery":{"method":4294967296}}]}`, "queries[0].userNameQuery.method"},
		{search, `{"queries":[{"userNameQuery":{"x":1,"x":2}}]}`, "queries[0].userNameQuery"},
	})
}

func TestDecodeTypes(t *testing.T) {
	t.Parallel()
	imported, token := &usersv1.ImportHumanUserRequest{}, &usersv1.AddPersonalAccessTokenRequest{}
	fields := &validate.FieldRules{}
	decode(t, []decoding{
		{imported, `{"dataOrgs":{"orgs":[{"orgId":"1"}]}}`, ""},
		{imported, `{"dataOrgs":null}`, ""},
		{imported, `{"dataOrgs":{"a":1,"a":2}}`, "dataOrgs"},
		{imported, `{"dataOrgs":` + nest(MaxDepth) + `}`, "dataOrgs"},
		{imported, `{"metadata":[{"key":"k","value":"aGk="},{"value":"aGk"},{"value":"_-_-"}]}`, ""},
		{imported, `{"metadata":[{"value":"a"}]}`, "metadata[0].value"},
		{imported, `{"metadata":[{"value":1}]}`, "metadata[0].value"},
		{imported, `{"profile":{"gender":"GENDER_MALE","preferredLanguage":null}}`, ""},

		{token, `{"expirationDate":"2030-01-01T00:00:00.123456Z"}`, ""},
		{token, `{"expirationDate":"2030-01-01"}`, "expirationDate"},
		{token, `{"expirationDate":"9999-12-31T23:59:60Z"}`, "expirationDate"},
		{token, `{"expirationDate":{"seconds":1}}`, "expirationDate"},
		{token, `{"expirationDate":1}`, "expirationDate"},

		{fields, `{"double":{"const":"NaN","in":[1,2.5,"-Infinity"]}}`, ""},
		{fields, `{"duration":{"const":"3600s"}}`, ""},
		{fields, `{"int32":{"const":2147483647}}`, ""},
		{fields, `{"int32":{"const":2.0e2,"in":[1.0,"1e2"]}}`, ""},
		{fields, `{"int32":{"const":3e9}}`, "int32.const"},
		{fields, `{"int32":{"const":0.5}}`, "int32.const"},
		{fields, `{"double":{"in":[1,"x"]}}`, "double.in[1]"},
		{fields, `{"float":{"const":1e39}}`, "float.const"},
		{fields, `{"duration":{"const":"1h"}}`, "duration.const"},
		{fields, `{"int32":{"const":2147483648}}`, "int32.const"},
		{fields, `{"double":{},"float":{}}`, malformed}, // two of a oneof
		{&errdetails.ErrorInfo{}, `{"metadata":{"a":"b"}}`, ""},
		{&errdetails.ErrorInfo{}, `{"metadata":{"a":"b","a":"c"}}`, "metadata"},
		{&errdetails.ErrorInfo{}, `{"metadata":{"a":1}}`, "metadata"},
		{&errdetails.ErrorInfo{}, `{"metadata":[]}`, "metadata"},
		{&annotations.HttpRule{}, `{"additionalBindings":[{"additionalBindings":[{"body":1}]}]}`,
			"additionalBindings[0].additionalBindings[0].body"},
	})
}

func decode(t *testing.T, all []decoding) {
	t.Helper()
	for _, c := range all {
		m := proto.Clone(c.m)
		err := Decode([]byte(c.body), m)
		f, _ := errors.AsType[*fault.Fault](err)
		switch {
		case c.flaw == "" && err != nil:
			t.Errorf("%.80s: %v", c.body, err)
		case c.flaw == malformed && (!errors.Is(err, gatewayfault.ErrJSONMalformed) || f.Code != fault.Invalid):
			t.Errorf("%.80s: %v", c.body, err)
		case c.flaw != "" && c.flaw != malformed && (f == nil || len(f.Fields) != 1 || f.Fields[0].Path != c.flaw):
			t.Errorf("%.80s: %v", c.body, err)
		}
	}
}

func TestDecodeReadsEverything(t *testing.T) {
	t.Parallel()
	var got usersv1.SearchUsersRequest
	if err := Decode([]byte(`{"query":{"limit":"10","asc":true},"queries":[{"user_name_query":{"userName":"\"a\\"}}]}`),
		&got); err != nil {
		t.Fatal(err)
	}
	want := &usersv1.SearchUsersRequest{
		Query:   &heraldv1.ListQuery{Limit: 10, Asc: true},
		Queries: []*usersv1.UserFilter{{UserNameQuery: &usersv1.UserNameQuery{UserName: `"a\`}}},
	}
	if !proto.Equal(&got, want) {
		t.Error(&got)
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, flaw string }{
		{"", ""},
		{"userName=%C3%A9+x&nothing=1&nothing=2&query=1&queries=1", ""},
		{"user_id=u&query.limit=5&query.asc=true&query.offset=1", ""},
		{"query.limit=1e1", ""},
		{"query.limit=1.5", "query.limit"},
		{"query.limit=x", "query.limit"},
		{"query.asc=yes", "query.asc"},
		{"query.limit=1&query.limit=1", "query.limit"},
		{"userId=a&user_id=a", "userId"},
		{"userId=%ff", "userId"},
		{"userId=%zz", "-"},
		{"userId=a;b", "-"},
		{strings.Repeat("query.", 5000) + "limit=1", ""},
	} {
		m := &usersv1.SearchMembershipsRequest{}
		err := Query(c.query, m)
		f, _ := errors.AsType[*fault.Fault](err)
		switch {
		case c.flaw == "" && err != nil, c.flaw == "-" && !errors.Is(err, gatewayfault.ErrQueryMalformed):
			t.Errorf("%.80s: %v", c.query, err)
		case c.flaw != "" && c.flaw != "-" && (f == nil || len(f.Fields) != 1 || f.Fields[0].Path != c.flaw):
			t.Errorf("%.80s: %v", c.query, err)
		}
	}
	var got usersv1.SearchMembershipsRequest
	if err := Query("user_id=u%201&query.limit=5&query.asc=true", &got); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(&got, &usersv1.SearchMembershipsRequest{
		UserId: "u 1", Query: &heraldv1.ListQuery{Limit: 5, Asc: true},
	}) {
		t.Error(&got)
	}
}
