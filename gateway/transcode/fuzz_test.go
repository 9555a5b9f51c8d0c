package transcode

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func kinds() []proto.Message {
	return []proto.Message{
		&usersv1.SearchUsersRequest{}, &usersv1.ImportHumanUserRequest{}, &usersv1.AddPersonalAccessTokenRequest{},
		&errdetails.ErrorInfo{}, &annotations.HttpRule{}, &validate.FieldRules{},
	}
}

// For any body Decode returns a message that can be marshalled and encoded again, or a fault that
// quotes nothing of the body.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"query":{"limit":"1"},"queries":[{"userNameQuery":{"userName":"a","method":1}}]}`,
		`{"dataOrgs":{"orgs":[{"orgId":"1","humanUsers":[]}]},"metadata":[{"key":"k","value":"aGk="}]}`,
		`{"expirationDate":"2030-01-01T00:00:00Z"}`, `{"metadata":{"a":"b"}}`, `{"double":{"in":[1,"NaN"]},` +
			`"duration":{"const":"1s"}}`,
		`{"additionalBindings":[{"body":"*"}],"custom":{"kind":"x"}}`, `{"a":1,"\u0061":2}`,
		`{"[x]":1,"@type":""}`, nest(40),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, m := range kinds() {
			err := Decode(body, m)
			if err == nil {
				if len(body) > 0 && (!json.Valid(body) || !utf8.Valid(body)) {
					t.Fatalf("%q was read", body)
				}
				if _, err := proto.Marshal(m); err != nil {
					t.Fatal(err)
				}
				same := m.ProtoReflect().New().Interface()
				if err := lenient.Unmarshal(body, same); len(body) > 0 && (err != nil || !proto.Equal(m, same)) {
					t.Fatalf("%q was read as %v, where protojson reads %v: %v", body, m, same, err)
				}
				if _, err := Encode(nil, m); err != nil &&
					m.ProtoReflect().Descriptor().FullName() != "buf.validate.FieldRules" {
					t.Fatal(err)
				}
				continue
			}
			fault, ok := errors.AsType[*fault.Fault](err)
			if !ok || fault.HTTPStatus() != 400 || fault.Unwrap() != nil || len(fault.Message) > 2000 {
				t.Fatalf("%q: %v", body, err)
			}
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"userId=a", "query.limit=5&query.asc=true", "user_id=%ff", "a;b", "dataOrgs=x",
		"query..limit=", "=&&="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		for _, m := range append(kinds(), &usersv1.SearchMembershipsRequest{}) {
			err := Query(query, m)
			if err == nil {
				if _, err := proto.Marshal(m); err != nil {
					t.Fatal(err)
				}
				continue
			}
			fault, ok := errors.AsType[*fault.Fault](err)
			if !ok || fault.HTTPStatus() != 400 || fault.Unwrap() != nil {
				t.Fatalf("%q: %v", query, err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"query":{"offset":"0","limit":50,"asc":true},"queries":[{"userNameQuery":{"userName":"alice",` +
		`"method":"TEXT_QUERY_METHOD_CONTAINS"}},{"stateQuery":{"state":"USER_STATE_ACTIVE"}}]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Decode(body, &usersv1.SearchUsersRequest{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeLarge(b *testing.B) {
	body := []byte(`{"dataOrgs":[` + strings.Repeat(`{"a":"b","c":[1,2,3]},`, 40_000) + `{}]}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := Decode(body, &usersv1.ImportHumanUserRequest{}); err != nil {
			b.Fatal(err)
		}
	}
}
