package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/gateway/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

func TestAnswerIsWholeJSON(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	got := w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(w.Owner())...).OK(t)
	testworld.SameJSON(t, got.Text,
		`{"user":{"id":"u1","details":{"sequence":"7","creationDate":"2023-11-14T22:13:20.120Z","resourceOwner":""},
		"state":"USER_STATE_ACTIVE","userName":"","loginNames":[],"preferredLoginName":"",
		"machine":{"name":"robot","description":"","hasSecret":false,
			"accessTokenType":"OIDC_TOKEN_TYPE_UNSPECIFIED"}}}`)
	for name, want := range map[string]string{
		"Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q", name, got.Header.Get(name))
		}
	}
	empty := w.Do(t, "POST", "/management/v1/users/_search", "", testworld.As(w.Owner())...).OK(t)
	testworld.SameJSON(t, empty.Text, `{"details":{"totalResult":"0","processedSequence":"0"},"result":[]}`)
}

func TestServiceHeadersReachTheClient(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	got := w.Do(t, "GET", "/auth/v1/users/me", "", testworld.As(w.Owner())...).OK(t)
	if got.Header.Get("Content-Language") != "de" {
		t.Error(got.Header)
	}
}

func TestPathWinsOverBody(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Do(t, "POST", "/management/v1/users/a%2Fb%20c/pats", `{"userId":"other"}`, testworld.As(w.Owner())...).OK(t)
	if got := w.Request().(*usersv1.AddPersonalAccessTokenRequest).UserId; got != "a/b c" {
		t.Error(got)
	}
}

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	framed := "\x00\x00\x00\x00\x02{}"
	for _, c := range []struct {
		mediaType, body string
		status          int
	}{
		{"", `{}`, 200},
		{"application/json", `{}`, 200},
		{"Application/JSON; charset=latin1", `{}`, 200},
		{"application/json;;;", `{}`, 200},
		{"application/scim+json", `{}`, 200},
		{"application/grpc", `{}`, 200},
		{"application/grpc-web+proto", ` {}`, 200},
		{"application/grpc", framed, 415},
		{"application/grpc-web+proto", framed, 415},
		{"application/grpc-web+proto", "\x80", 415},
		{"application/grpc-web-text", `{}`, 415},
		{"application/grpc+proto", `{}`, 415},
		{"application/proto", `{}`, 415},
		{"application/x-www-form-urlencoded", `{}`, 415},
		{"text/json", `{}`, 415},
		{"multipart/form-data; boundary=x", `{}`, 415},
		{"json", `{}`, 415},
		{";;", `{}`, 415},
		{"; charset=utf-8", `{}`, 415},
		{"application/", `{}`, 415},
		{"text/plain, application/x+json", `{}`, 415},
		{"a b/x+json", `{}`, 415},
		{";;", ``, 200},
		{"text/plain", ``, 200},
		{"application/json", ``, 200},
	} {
		got := w.Do(t, "POST", "/management/v1/users/_search", c.body,
			testworld.As(w.Owner(), "Content-Type", c.mediaType, "Accept", "image/png")...)
		if got.StatusCode != c.status {
			t.Errorf("%s with %q: %d %s", c.mediaType, c.body, got.StatusCode, got.Text)
		}
		if c.status == 415 {
			got.Refused(t, 415, "MEDIA_TYPE_NOT_SUPPORTED")
		}
	}
	w.Do(t, "POST", "/management/v1/users/_search", "\x1f\x8b", testworld.As(w.Owner(), "Content-Encoding",
		"gzip")...).
		Refused(t, 415, "MEDIA_TYPE_NOT_SUPPORTED")
	two := testworld.As(w.Owner(), "Content-Type", "application/json", "Content-Type", "application/json")
	w.Do(t, "POST", "/management/v1/users/_search", `{}`, two...).Refused(t, 415, "MEDIA_TYPE_NOT_SUPPORTED")
	w.Do(t, "POST", testworld.GetUser, `{}`, two...).Refused(t, 415, "MEDIA_TYPE_NOT_SUPPORTED")
	w.Do(t, "GET", "/management/v1/users/u1", "not read", testworld.As(w.Owner(), "Content-Type", "text/plain")...).
		OK(t)
}

func TestBadJSON(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, c := range []struct{ body, id, field string }{
		{`{`, "JSON_MALFORMED", ""},
		{`{} {}`, "JSON_MALFORMED", ""},
		{`[]`, "JSON_MALFORMED", ""},
		{"{\"userName\":\"\xff\"}", "JSON_MALFORMED", ""},
		{`{"x":1,"x":2}`, "JSON_MALFORMED", ""},
		{`{"query":{"limit":1.5}}`, "INVALID_ARGUMENT", "query.limit"},
		{`{"query":{"limit":1,"limit":1}}`, "INVALID_ARGUMENT", "query.limit"},
		{`{"query":{"offset":18446744073709551616}}`, "INVALID_ARGUMENT", "query.offset"},
		{`{"queries":[{"stateQuery":{"state":"NONE"}}]}`, "INVALID_ARGUMENT", "queries[0].stateQuery.state"},
		{`{"queries":[{"userNameQuery":{"userName":"a","method":99}}]}`, "INVALID_ARGUMENT",
			"queries[0].userNameQuery.method"},
		{`{"queries":{}}`, "INVALID_ARGUMENT", "queries"},
	} {
		before := w.Called.Load()
		got := w.Do(t, "POST", "/management/v1/users/_search", c.body, testworld.As(w.Owner())...).
			Refused(t, 400, c.id)
		field := ""
		if len(got.Details) > 1 {
			field = got.Details[1].FieldViolations[0].Field
		}
		if got.Code != 3 || field != c.field || w.Called.Load() != before {
			t.Errorf("%s: %+v", c.body, got)
		}
	}
}

// The media type is refused before the size.
func TestMediaTypeBeforeSize(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, mediaType := range []string{"text/plain", ";;", "application/grpc"} {
		w.Do(t, "POST", "/management/v1/users/_search", "\x00"+strings.Repeat(" ", 1<<20), testworld.As(w.Owner(),
			"Content-Type", mediaType)...).Refused(t, 415, "MEDIA_TYPE_NOT_SUPPORTED")
	}
	w.Do(t, "POST", "/management/v1/users/_search", strings.Repeat(" ", 1<<20+1), testworld.As(w.Owner(),
		"Content-Type", "application/grpc")...).Refused(t, 413, "BODY_TOO_LARGE")
}

func TestWholeNumbers(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, number := range []string{`50`, `"50"`, `50.0`, `5e1`, `"50.0"`, `0.5E2`, `500e-1`} {
		w.Do(t, "POST", "/management/v1/users/_search", `{"query":{"limit":`+number+`,"offset":`+number+`}}`,
			testworld.As(w.Owner())...).OK(t)
		want := &usersv1.SearchUsersRequest{Query: &heraldv1.ListQuery{Limit: 50, Offset: 50}}
		if !proto.Equal(w.Request(), want) {
			t.Errorf("%s was read as %v", number, w.Request())
		}
	}
}

func TestMalformedJSONSaysWhere(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for body, where := range map[string]string{
		`{`:                      "line 1, column 2",
		"{\n \"é\": 1,\n x}":     "line 3, column 2",
		"{\"a\":\n\"\xff\"}":     "line 2, column 2",
		`{} {}`:                  "line 1, column 4",
		` []`:                    "line 1, column 2",
		"{\n\"x\":1,\"x\":2}":    "line 2, column 11",
		`{"a":"\ud800"}`:         "line 1, column 7",
		strings.Repeat("[", 100): "line 1, column 101",
	} {
		e := w.Do(t, "POST", "/management/v1/users/_search", body, testworld.As(w.Owner())...).
			Refused(t, 400, "JSON_MALFORMED")
		if !strings.HasSuffix(e.Message, ", at "+where) {
			t.Errorf("%q: %s, want %s", body, e.Message, where)
		}
	}
}

func TestQueryParameters(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Do(t, "GET", "/management/v1/users/_is_unique?user_name=a%20b&unknown=1&unknown=2", "",
		testworld.As(w.Owner())...).OK(t)
	if !proto.Equal(w.Request(), &usersv1.IsUserUniqueRequest{UserName: "a b"}) {
		t.Error(w.Request())
	}
	w.Do(t, "GET", "/management/v1/users/_is_unique?userName=a&user_name=a", "", testworld.As(w.Owner())...).
		Refused(t, 400,
			"INVALID_ARGUMENT")
	w.Do(t, "GET", "/management/v1/users/_is_unique?userName=%zz", "", testworld.As(w.Owner())...).Refused(t, 400,
		"QUERY_MALFORMED")
}

func TestFieldsOfOthersAreIgnored(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Do(t, "POST", "/management/v1/users/_search", `{"details":{"sequence":"9"},"resourceOwner":"o2","state":[1],`+
		`"query":null}`, testworld.As(w.Owner())...).OK(t)
	if !proto.Equal(w.Request(), &usersv1.SearchUsersRequest{}) {
		t.Error(w.Request())
	}
}

// An answer is one line of JSON, so that a terminal shows its prompt below it.
func TestAnswersEndWithANewline(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for path, status := range map[string]int{
		"/management/v1/users/u1": http.StatusOK, "/management/v1/nothing": http.StatusNotFound,
	} {
		got := w.Do(t, "GET", path, "", testworld.As(w.Owner())...)
		if got.StatusCode != status || strings.Count(string(got.Text), "\n") != 1 ||
			!strings.HasSuffix(string(got.Text), "}\n") || got.ContentLength != int64(len(got.Text)) {
			t.Errorf("%s: %d, %d bytes announced: %q", path, got.StatusCode, got.ContentLength, got.Text)
		}
	}
}
