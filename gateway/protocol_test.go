package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"herald/shared/contract"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

const getUser = "/herald.users.v1.Users/GetUser"

func (w *world) dial(t testing.TB) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(strings.TrimPrefix(w.url, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// overGRPC makes the call with grpc-go.
func (w *world) overGRPC(t testing.TB, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	r, err := usersv1.NewUsersClient(w.dial(t)).GetUser(ctx, &usersv1.GetUserRequest{UserId: userID})
	if err != nil {
		return nil, status.Convert(err).Proto()
	}
	return r, &statuspb.Status{}
}

// overWeb makes the call with frames of gRPC-Web over HTTP/1.1.
func (w *world) overWeb(t testing.TB, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status) {
	t.Helper()
	data, _ := proto.Marshal(&usersv1.GetUserRequest{UserId: userID})
	got := w.do(t, "POST", getUser, string(framed(data)),
		append(as(token), "Content-Type", "application/grpc-web+proto")...)
	for flags, part := range frames(got.body) {
		if flags&0x80 == 0 {
			r := &usersv1.GetUserResponse{}
			if err := proto.Unmarshal(part, r); err != nil {
				t.Fatal(err)
			}
			return r, trailerStatus(t, webTrailer(t, got))
		}
	}
	return nil, trailerStatus(t, webTrailer(t, got))
}

// frames returns the frames of a gRPC-Web answer: flags and content.
func frames(body []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for len(body) > 0 {
			flags, part := body[0], body[5:5+binary.BigEndian.Uint32(body[1:5])]
			if body = body[5+len(part):]; !yield(flags, part) {
				return
			}
		}
	}
}

// webTrailer returns the trailer of a gRPC-Web answer, from its headers or its body.
func webTrailer(t testing.TB, got answer) http.Header {
	t.Helper()
	trailer := got.Header.Clone()
	for flags, part := range frames(got.body) {
		if flags&0x80 == 0 {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSpace(string(part)), "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			trailer.Set(name, strings.TrimSpace(value))
		}
	}
	return trailer
}

func framed(data []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)
}

func trailerStatus(t testing.TB, h http.Header) *statuspb.Status {
	t.Helper()
	code, err := strconv.Atoi(h.Get("Grpc-Status"))
	if err != nil {
		t.Fatalf("no status in %v", h)
	}
	message, _ := url.PathUnescape(h.Get("Grpc-Message"))
	s := &statuspb.Status{Code: int32(code), Message: message}
	if bin := h.Get("Grpc-Status-Details-Bin"); bin != "" {
		data, err := base64.RawStdEncoding.DecodeString(bin)
		if err != nil {
			t.Fatal(err)
		}
		var full statuspb.Status
		if err := proto.Unmarshal(data, &full); err != nil {
			t.Fatal(err)
		}
		if full.Code != s.Code || full.Message != s.Message {
			t.Errorf("details say %d %q, trailers %d %q", full.Code, full.Message, s.Code, s.Message)
		}
		s = &full
	}
	return s
}

// overConnect makes the call with a body in JSON or protobuf.
func (w *world) overConnect(
	t testing.TB, mediaType, token, userID string,
) (*usersv1.GetUserResponse, *statuspb.Status) {
	t.Helper()
	in, r := &usersv1.GetUserRequest{UserId: userID}, &usersv1.GetUserResponse{}
	encode, decode := proto.Marshal, proto.Unmarshal
	if strings.Contains(mediaType, "json") {
		encode, decode = protojson.Marshal, protojson.Unmarshal
	}
	data, _ := encode(in)
	got := w.do(t, "POST", getUser, string(data),
		append(as(token), "Content-Type", mediaType, "Connect-Protocol-Version", "1")...)
	if got.StatusCode == 200 {
		if err := decode(got.body, r); err != nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		return r, &statuspb.Status{}
	}
	var e struct {
		Code, Message string
		Details       []struct{ Type, Value string }
	}
	if err := json.Unmarshal(got.body, &e); err != nil {
		t.Fatalf("%s: %v", got.body, err)
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

func (w *world) overREST(t testing.TB, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status) {
	t.Helper()
	got := w.do(t, "GET", "/management/v1/users/"+userID, "", as(token)...)
	r, s := &usersv1.GetUserResponse{}, &statuspb.Status{}
	if got.StatusCode == 200 {
		if err := protojson.Unmarshal(got.body, r); err != nil {
			t.Fatal(err)
		}
		return r, s
	}
	if err := protojson.Unmarshal(got.body, s); err != nil {
		t.Fatal(err)
	}
	return nil, s
}

type protocol struct {
	name string
	call func(testing.TB, string, string) (*usersv1.GetUserResponse, *statuspb.Status)
}

func (w *world) protocols() []protocol {
	connect := func(mediaType string) func(testing.TB, string, string) (*usersv1.GetUserResponse, *statuspb.Status) {
		return func(t testing.TB, token, userID string) (*usersv1.GetUserResponse, *statuspb.Status) {
			return w.overConnect(t, mediaType, token, userID)
		}
	}
	return []protocol{
		{"REST", w.overREST}, {"gRPC", w.overGRPC}, {"gRPC-Web", w.overWeb},
		{"Connect proto", connect("application/proto")}, {"Connect JSON", connect("application/json; charset=UTF-8")},
	}
}

func TestEveryProtocolAnswersAlike(t *testing.T) {
	t.Parallel()
	w := start(t)
	strange := errUser.Say("naïve “quotes” 100%% \r\n").On("a.b[0]", "wrong").Lacking("user.read", "o1").After(1500e6)
	for _, c := range []struct {
		name, token, userID string
		fail                error
		code                codes.Code
		id                  string
	}{
		{"found", w.owner(), "u1", nil, 0, ""},
		{"not found", w.owner(), "u2", nil, 5, "USER_NOT_FOUND"},
		{"impossible id", w.owner(), strings.Repeat("x", 201), nil, 5, "NOT_FOUND"},
		{"no token", "", "u1", nil, 16, "UNAUTHENTICATED"},
		{"unknown token", "hrld_x", "u1", nil, 16, "UNAUTHENTICATED"},
		{"no scope", w.token("u1", []string{"ORG_OWNER"}, "openid"), "u1", nil, 7, "INSUFFICIENT_SCOPE"},
		{"no permission", w.token("u1", nil, "openid", contract.Audience), "u1", nil, 7, "PERMISSION_DENIED"},
		{"every detail", w.owner(), "u1", strange, 5, "USER_NOT_FOUND"},
		{"internal", w.owner(), "u1", io.ErrUnexpectedEOF, 13, "INTERNAL"},
		{"away", w.owner(), "u1", fault.ErrUnavailable.After(1e9), 14, "UNAVAILABLE"},
	} {
		w.failWith(func(context.Context) error { return c.fail })
		var first *usersv1.GetUserResponse
		var refused *statuspb.Status
		for i, p := range w.protocols() {
			r, s := p.call(t, c.token, c.userID)
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
	w := start(t)
	for _, body := range []string{`{"userId":1}`, `{"userId":"a","user_id":"b"}`, `{"userId":"a"}x`} {
		got := w.do(t, "POST", getUser, body, append(as(w.owner()), "Content-Type", "application/json")...)
		if got.StatusCode != 400 || !strings.Contains(string(got.body), `"code":"invalid_argument"`) {
			t.Errorf("%s: %d %s", body, got.StatusCode, got.body)
		}
	}
	if w.called.Load() != 0 {
		t.Error("reached the service")
	}
}

// Simultaneous requests are not mixed up.
func TestFramesStayApart(t *testing.T) {
	t.Parallel()
	w := start(t)
	users := usersv1.NewUsersClient(w.dial(t))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+w.owner())
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
	plain := w.do(t, "POST", getUser, `{"userId":"u1"}`, append(as(w.owner()), "Content-Type", "application/json",
		"Accept-Encoding", "gzip")...).ok(t)
	if plain.Header.Get("Content-Encoding") != "" { // compressed lengths could reveal secrets in answers
		t.Error("compressed")
	}
}

// The service gets the client's deadline.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	w := start(t)
	ended := make(chan error, 1)
	w.failWith(func(ctx context.Context) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	pairs := append(as(w.owner()), "Content-Type", "application/grpc-web+proto", "Grpc-Timeout", "50m")
	got := w.do(t, "POST", getUser, string(framed(nil)), pairs...)
	if s := trailerStatus(t, webTrailer(t, got)); s.Code != 4 || len(s.Details) == 0 {
		t.Errorf("%v", s)
	}
	if err := <-ended; err != context.DeadlineExceeded {
		t.Error(err)
	}
}

func TestUnknownProcedures(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.dial(t)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+w.owner())
	for _, procedure := range []string{
		"/herald.users.v1.Users/Nothing", "/herald.users.v1.Users/ResolveToken", "/herald.auth.v1.Auth/ServePage",
		"/herald.users.v1.Users/PrepareMail", "/x.Y/Z", "/grpc.health.v1.Health/Watch",
	} {
		err := c.Invoke(ctx, procedure, &usersv1.GetUserRequest{}, &usersv1.GetUserResponse{})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", procedure, err)
		}
		web := w.do(t, "POST", procedure, string(framed(nil)), "Content-Type", "application/grpc-web+proto")
		if s := trailerStatus(t, web.Header); s.Code != 12 {
			t.Errorf("%s over gRPC-Web: %v", procedure, s)
		}
		w.do(t, "POST", procedure, `{}`, "Content-Type", "application/json").refused(t, 404, "NOT_FOUND")
	}
	w.do(t, "POST", getUser, `{}`, append(as(w.owner()), "Content-Type", "text/plain")...).refused(t, 415,
		"MEDIA_TYPE_NOT_SUPPORTED")
	w.do(t, "POST", getUser, `{}`, append(as(w.owner()), "Content-Type", "application/connect+json")...).refused(t, 415,
		"MEDIA_TYPE_NOT_SUPPORTED")
	w.do(t, "POST", getUser, `{}`, append(as(w.owner()), "Content-Type", "application/grpc-web-text")...).refused(t,
		415, "MEDIA_TYPE_NOT_SUPPORTED")
	w.do(t, "POST", getUser, `{}`, "Content-Type", "text/plain").refused(t, 401, "UNAUTHENTICATED")
}

func TestReflectionAndHealthNeedNoToken(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.dial(t)
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
		"herald.projects.v1.Projects herald.projects.v1.Roles herald.text.v1.Text herald.users.v1.Users grpc.health.v1.Health" {
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
