package connect_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"herald/gateway/internal/testworld"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// overGRPC makes the call with grpc-go.
func overGRPC(t testing.TB, w *testworld.World, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	r, err := usersv1.NewUsersClient(w.Dial(t)).GetUser(ctx, &usersv1.GetUserRequest{UserId: userID})
	if err != nil {
		return nil, status.Convert(err).Proto()
	}
	return r, &statuspb.Status{}
}

// overWeb makes the call with frames of gRPC-Web over HTTP/1.1.
func overWeb(t testing.TB, w *testworld.World, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status) {
	t.Helper()
	data, _ := proto.Marshal(&usersv1.GetUserRequest{UserId: userID})
	got := w.Do(t, "POST", testworld.GetUser, string(testworld.Framed(data)),
		testworld.As(token, "Content-Type", "application/grpc-web+proto")...)
	for flags, part := range testworld.Frames(got.Text) {
		if flags&0x80 == 0 {
			r := &usersv1.GetUserResponse{}
			if err := proto.Unmarshal(part, r); err != nil {
				t.Fatal(err)
			}
			return r, testworld.TrailerStatus(t, testworld.WebTrailer(t, got))
		}
	}
	return nil, testworld.TrailerStatus(t, testworld.WebTrailer(t, got))
}

// overConnect returns a function that makes the call with a body in JSON or protobuf.
func overConnect(mediaType string) call {
	return func(t testing.TB, w *testworld.World, token, userID string) (
		*usersv1.GetUserResponse, *statuspb.Status,
	) {
		t.Helper()
		in, r := &usersv1.GetUserRequest{UserId: userID}, &usersv1.GetUserResponse{}
		encode, decode := proto.Marshal, proto.Unmarshal
		if strings.Contains(mediaType, "json") {
			encode, decode = protojson.Marshal, protojson.Unmarshal
		}
		data, _ := encode(in)
		got := w.Do(t, "POST", testworld.GetUser, string(data),
			testworld.As(token, "Content-Type", mediaType, "Connect-Protocol-Version", "1")...)
		if got.StatusCode == 200 {
			if err := decode(got.Text, r); err != nil {
				t.Fatalf("%s: %v", got.Text, err)
			}
			return r, &statuspb.Status{}
		}
		var e struct {
			Code, Message string
			Details       []struct{ Type, Value string }
		}
		if err := json.Unmarshal(got.Text, &e); err != nil {
			t.Fatalf("%s: %v", got.Text, err)
		}
		var code codes.Code
		if err := code.UnmarshalJSON([]byte(`"` + strings.ToUpper(e.Code) + `"`)); err != nil {
			t.Fatal(err)
		}
		s := &statuspb.Status{Code: int32(code), Message: e.Message}
		for _, d := range e.Details {
			value, err := base64.RawStdEncoding.DecodeString(d.Value)
			if err != nil {
				t.Fatal(err)
			}
			s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type, Value: value})
		}
		return nil, s
	}
}

func overREST(t testing.TB, w *testworld.World, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status) {
	t.Helper()
	got := w.Do(t, "GET", "/management/v1/users/"+userID, "", testworld.As(token)...)
	r, s := &usersv1.GetUserResponse{}, &statuspb.Status{}
	if got.StatusCode == 200 {
		if err := protojson.Unmarshal(got.Text, r); err != nil {
			t.Fatal(err)
		}
		return r, s
	}
	if err := protojson.Unmarshal(got.Text, s); err != nil {
		t.Fatal(err)
	}
	return nil, s
}

type call func(t testing.TB, w *testworld.World, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status)

var protocols = []struct {
	name string
	call call
}{
	{"REST", overREST}, {"gRPC", overGRPC}, {"gRPC-Web", overWeb},
	{"Connect proto", overConnect("application/proto")},
	{"Connect JSON", overConnect("application/json; charset=UTF-8")},
}

func TestEveryProtocolAnswersAlike(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	strange := usersfault.ErrUserNotFound.Say("naïve “quotes” 100%% \r\n").On("a.b[0]", "wrong").Lacking("user.read",
		"o1").After(1500e6)
	for _, c := range []struct {
		name, token, userID string
		fail                error
		code                codes.Code
		id                  string
	}{
		{"found", w.Owner(), "u1", nil, 0, ""},
		{"not found", w.Owner(), "u2", nil, 5, "USER_NOT_FOUND"},
		{"impossible id", w.Owner(), strings.Repeat("x", 201), nil, 5, "NOT_FOUND"},
		{"no token", "", "u1", nil, 16, "UNAUTHENTICATED"},
		{"unknown token", "hrld_x", "u1", nil, 16, "UNAUTHENTICATED"},
		{"no scope", w.Token("u1", []string{"ORG_OWNER"}, "openid"), "u1", nil, 7, "INSUFFICIENT_SCOPE"},
		{"no permission", w.Token("u1", nil, "openid", contract.Audience), "u1", nil, 7, "PERMISSION_DENIED"},
		{"every detail", w.Owner(), "u1", strange, 5, "USER_NOT_FOUND"},
		{"internal", w.Owner(), "u1", io.ErrUnexpectedEOF, 13, "INTERNAL"},
		{"away", w.Owner(), "u1", fault.ErrUnavailable.After(1e9), 14, "UNAVAILABLE"},
	} {
		w.FailWith(func(context.Context) error { return c.fail })
		var first *usersv1.GetUserResponse
		var refused *statuspb.Status
		for i, p := range protocols {
			r, s := p.call(t, w, c.token, c.userID)
			if i == 0 {
				first, refused = r, s
			}
			if !proto.Equal(r, first) || !proto.Equal(s, refused) {
				t.Errorf("%s over %s: %v %v, want %v %v", c.name, p.name, r, s, first, refused)
			}
		}
		var detail heraldv1.ErrorDetail
		if len(refused.Details) > 0 {
			_ = refused.Details[0].UnmarshalTo(&detail)
		}
		if codes.Code(refused.Code) != c.code || detail.Id != c.id {
			t.Errorf("%s: %v", c.name, refused)
		}
	}
}

func TestConnectReadsJSONAsStrictly(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, body := range []string{`{"userId":1}`, `{"userId":"a","user_id":"b"}`, `{"userId":"a"}x`} {
		got := w.Do(t, "POST", testworld.GetUser, body, testworld.As(w.Owner(), "Content-Type",
			"application/json")...)
		if got.StatusCode != 400 || !strings.Contains(string(got.Text), `"code":"invalid_argument"`) {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.Text)
		}
	}
	if w.Called.Load() != 0 {
		t.Error("reached the service")
	}
}

// Simultaneous requests are not mixed up.
func TestFramesStayApart(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	users := usersv1.NewImportsClient(w.Dial(t))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+w.Owner())
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 50 {
				id := strings.Repeat(strconv.Itoa(i), 20) + "-" + strconv.Itoa(j)
				got, err := users.ImportHumanUser(ctx, &usersv1.ImportHumanUserRequest{UserId: id})
				if err != nil || got.UserId != id {
					t.Errorf("%s: %v %v", id, got, err)
				}
			}
		})
	}
	all.Wait()
	plain := w.Do(t, "POST", testworld.GetUser, `{"userId":"u1"}`, testworld.As(w.Owner(), "Content-Type",
		"application/json",
		"Accept-Encoding", "gzip")...).OK(t)
	if plain.Header.Get("Content-Encoding") != "" { // compressed lengths could reveal secrets in answers
		t.Error("compressed")
	}
}

// The service gets the client's deadline.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	ended := make(chan error, 1)
	w.FailWith(func(ctx context.Context) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	pairs := testworld.As(w.Owner(), "Content-Type", "application/grpc-web+proto", "Grpc-Timeout", "50m")
	data, _ := proto.Marshal(&usersv1.GetUserRequest{UserId: "u1"})
	got := w.Do(t, "POST", testworld.GetUser, string(testworld.Framed(data)), pairs...)
	if s := testworld.TrailerStatus(t, testworld.WebTrailer(t, got)); s.Code != 4 || len(s.Details) == 0 {
		t.Errorf("%v", s)
	}
	if err := <-ended; err != context.DeadlineExceeded {
		t.Error(err)
	}
}

func TestUnknownProcedures(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	c := w.Dial(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+w.Owner())
	for _, procedure := range []string{
		"/herald.users.v1.Users/Nothing", "/herald.users.v1.Internal/ResolveToken", "/herald.auth.v1.Auth/ServePage",
		"/herald.users.v1.Internal/PrepareMail", "/x.Y/Z", "/grpc.health.v1.Health/Watch",
	} {
		err := c.Invoke(ctx, procedure, &usersv1.GetUserRequest{}, &usersv1.GetUserResponse{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", procedure, err)
		}
		web := w.Do(t, "POST", procedure, string(testworld.Framed(nil)), "Content-Type", "application/grpc-web+proto")
		if s := testworld.TrailerStatus(t, web.Header); s.Code != 12 {
			t.Errorf("%s over gRPC-Web: %v", procedure, s)
		}
		w.Do(t, "POST", procedure, `{}`, "Content-Type", "application/json").Refused(t, 404, "NOT_FOUND")
	}
	w.Do(t, "POST", testworld.GetUser, `{}`, testworld.As(w.Owner(), "Content-Type", "text/plain")...).
		Refused(t, 415,
			"MEDIA_TYPE_NOT_SUPPORTED")
	w.Do(t, "POST", testworld.GetUser, `{}`, testworld.As(w.Owner(), "Content-Type",
		"application/connect+json")...).Refused(t, 415,
		"MEDIA_TYPE_NOT_SUPPORTED")
	w.Do(t, "POST", testworld.GetUser, `{}`, testworld.As(w.Owner(), "Content-Type",
		"application/grpc-web-text")...).Refused(t,
		415, "MEDIA_TYPE_NOT_SUPPORTED")
	w.Do(t, "POST", testworld.GetUser, `{}`, "Content-Type", "text/plain").Refused(t, 401, "UNAUTHENTICATED")
}

func TestReflectionAndHealthNeedNoToken(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	c := w.Dial(t)
	health := healthpb.NewHealthClient(c)
	for _, service := range []string{"", "herald.users.v1.Users"} {
		got, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || got.Status != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("%q: %v %v", service, got, err)
		}
	}
	if _, err := health.Check(t.Context(), &healthpb.HealthCheckRequest{Service: "x"}); status.Code(
		err) != codes.NotFound {
		t.Error(err)
	}
	stream, err := reflectionpb.NewServerReflectionClient(c).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		got, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	var names []string
	list := ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{},
	})
	for _, s := range list.GetListServicesResponse().Service {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "herald.auth.v1.Auth herald.idp.v1.Idps "+
		"herald.notification.v1.Notifications herald.projects.v1.Apps herald.projects.v1.Grants "+
		"herald.projects.v1.Projects herald.projects.v1.Roles herald.text.v1.Text herald.users.v1.Audit "+
		"herald.users.v1.Credentials herald.users.v1.Expirations herald.users.v1.Factors herald.users.v1.Imports "+
		"herald.users.v1.Logins herald.users.v1.Machines herald.users.v1.Members "+
		"herald.users.v1.Orgs herald.users.v1.Users grpc.health.v1.Health" {
		t.Error(got)
	}
	file := ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{
			FileContainingSymbol: "herald.users.v1.Users",
		},
	})
	if !bytes.Contains(file.GetFileDescriptorResponse().GetFileDescriptorProto()[0], []byte("GetUser")) {
		t.Error("the file does not describe GetUser")
	}
}
