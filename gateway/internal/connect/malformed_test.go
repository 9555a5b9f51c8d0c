package connect_test

import (
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/gateway/internal/testworld"
)

const healthCheck = "/grpc.health.v1.Health/Check"

// A body that is no message of gRPC is the sender's fault, and not reported as an internal one.
func TestGarbageIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for name, body := range map[string]string{
		"nothing": "", "half a head": "\x00\x00", "text": "garbage garbage", "too short": "\x00\x00\x00\x00\x09abc",
		"too long": "\x00\x00\x00\x00\x00abc", "compressed": "\x01\x00\x00\x00\x00", "flags": "\xff\x00\x00\x00\x00",
		"two messages":      string(testworld.Framed(nil)) + string(testworld.Framed(nil)),
		"4 GiB":             "\x00\xff\xff\xff\xff",
		"no message inside": string(testworld.Framed([]byte("\xff\xff"))),
	} {
		for _, path := range []string{testworld.GetUser, healthCheck} {
			for _, mediaType := range []string{"application/grpc", "application/grpc-web+proto"} {
				got := w.Do(t, "POST", path, body, testworld.As(w.Owner(), "Content-Type", mediaType)...)
				header := got.Trailer
				if header.Get("Grpc-Status") == "" {
					header = testworld.WebTrailer(t, got)
				}
				s := testworld.TrailerStatus(t, header)
				if s.Code != 3 || strings.Contains(s.Message, "protocol error") {
					t.Errorf("%s to %s as %s: %v", name, path, mediaType, s)
				}
			}
		}
	}
}

// A time limit that is over or malformed gets a fault of ours, with its id.
func TestTimeLimitsHaveFaults(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, path := range []string{testworld.GetUser, healthCheck} {
		for header, id := range map[string]string{
			"0n": "DEADLINE_EXCEEDED", "1n": "DEADLINE_EXCEEDED", "0S": "DEADLINE_EXCEEDED",
			"": "", "99999999H": "", "10S": "",
			"S": "REQUEST_MALFORMED", "1": "REQUEST_MALFORMED", "-1S": "REQUEST_MALFORMED", "1s": "REQUEST_MALFORMED",
			"123456789S": "REQUEST_MALFORMED",
		} {
			data, _ := proto.Marshal(&healthpb.HealthCheckRequest{Service: "herald.users.v1.Users"})
			got := w.Do(t, "POST", path, string(testworld.Framed(data)), testworld.As(w.Owner(), "Content-Type",
				"application/grpc-web+proto", "Grpc-Timeout", header)...)
			s := testworld.TrailerStatus(t, testworld.WebTrailer(t, got))
			if path == healthCheck && id == "DEADLINE_EXCEEDED" && s.Code == 0 {
				continue // it waits for nobody
			}
			if s.Code != 0 && id == "" && s.Code != 5 || !strings.Contains(prototext.Format(s), id) {
				t.Errorf("%s within %q: %v", path, header, s)
			}
		}
	}
	late := w.Do(t, "POST", testworld.GetUser, `{"userId":"u1"}`, testworld.As(w.Owner(), "Content-Type",
		"application/json",
		"Connect-Timeout-Ms", "0")...)
	if late.StatusCode != 504 || !strings.Contains(string(late.Text), "DEADLINE_EXCEEDED") {
		t.Errorf("%d %s", late.StatusCode, late.Text)
	}
	w.Do(t, "GET", "/management/v1/users/u1", "", testworld.As(w.Owner(), "Grpc-Timeout", "0n")...).OK(t)
}

// reflect opens a stream of reflection. The function asks on it.
func reflect(t *testing.T, w *testworld.World) func(*reflectionpb.ServerReflectionRequest) (
	*reflectionpb.ServerReflectionResponse, error) {
	t.Helper()
	stream, err := reflectionpb.NewServerReflectionClient(w.Dial(t)).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return func(r *reflectionpb.ServerReflectionRequest) (*reflectionpb.ServerReflectionResponse, error) {
		if err := stream.Send(r); err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return stream.Recv()
	}
}

func symbol(name string) *reflectionpb.ServerReflectionRequest {
	return &reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name},
	}
}

// Reflection describes the public methods, and not the internal ones.
func TestReflectionHasOnlyPublicMethods(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	ask := reflect(t, w)
	described := map[string]bool{}
	for _, service := range []string{"idp.v1.Idps", "notification.v1.Notifications", "projects.v1.Apps",
		"projects.v1.Grants", "projects.v1.Projects", "projects.v1.Roles", "text.v1.Text",
		"users.v1.Credentials", "users.v1.Factors", "users.v1.Imports", "users.v1.Logins", "users.v1.Machines",
		"users.v1.Members", "users.v1.Orgs", "users.v1.Users"} {
		got, err := ask(symbol("herald." + service))
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range got.GetFileDescriptorResponse().GetFileDescriptorProto() {
			var f descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(data, &f); err != nil {
				t.Fatal(err)
			}
			for _, s := range f.Service {
				for _, m := range s.Method {
					described[m.GetName()] = true
				}
			}
			for _, m := range f.MessageType {
				described[m.GetName()] = true
			}
		}
	}
	for name, want := range map[string]bool{
		"GetUser": true, "ImportHumanUser": true, "GetUserRequest": true, "User": true, "ListQuery": true,
		"ResolveToken": false, "ResolveTokenRequest": false, "PrepareMail": false,
	} {
		t.Run(name, func(t *testing.T) {
			if described[name] != want {
				t.Errorf("%s is described: %v", name, described[name])
			}
		})
	}
	for _, name := range []string{"herald.auth.v1.Auth.ServePage", "herald.users.v1.Internal.ResolveToken",
		"herald.users.v1.ResolveTokenRequest", "herald.users.v1.UserRemoved"} {
		if got, err := ask(symbol(name)); err != nil || got.GetErrorResponse().GetErrorCode() != 5 {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// One stream of reflection ends after a few megabytes.
func TestReflectionIsBounded(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	ask := reflect(t, w)
	size := 0
	for range 5000 {
		got, err := ask(symbol("herald.users.v1.Users"))
		if err == nil {
			size += proto.Size(got)
			continue
		}
		if s := status.Convert(err); s.Code() != codes.ResourceExhausted ||
			!strings.Contains(prototext.Format(s.Proto()), "REFLECTION_TOO_LARGE") {
			t.Error(err)
		}
		break
	}
	if size < 1<<20 || size > 4<<20 {
		t.Errorf("%d bytes", size)
	}
	ask = reflect(t, w)
	if _, err := ask(&reflectionpb.ServerReflectionRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}
