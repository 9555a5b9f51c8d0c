package whole

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	"herald/shared/fault"
)

// Dial returns a connection for gRPC.
func (i *Instance) Dial(t testing.TB) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(strings.TrimPrefix(i.URL, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Request is a request for every protocol. REST sends the JSON to a path, the others send a message
// parsed from it.
type Request struct {
	Method      protoreflect.MethodDescriptor
	Path        string // with its verb before it
	JSON, Token string
}

func (r Request) procedure() string {
	return fmt.Sprintf("/%s/%s", r.Method.Parent().FullName(), r.Method.Name())
}

func (r Request) message(t testing.TB) *dynamicpb.Message {
	t.Helper()
	m := dynamicpb.NewMessage(r.Method.Input())
	if err := protojson.Unmarshal([]byte(r.JSON), m); err != nil {
		t.Fatalf("%s: %v", r.JSON, err)
	}
	return m
}

// Protocol is a way to make a call. Call returns the answer or the error.
type Protocol struct {
	Name string
	Call func(testing.TB, Request) (proto.Message, *statuspb.Status)
}

// Protocols returns every protocol of the gateway.
func (i *Instance) Protocols() []Protocol {
	return []Protocol{
		{"REST", i.REST}, {"gRPC", i.GRPC}, {"gRPC-Web", i.Connect(connect.WithGRPCWeb())},
		{"Connect", i.Connect()}, {"Connect with JSON", i.Connect(connect.WithProtoJSON())},
	}
}

// REST makes a call by its path and JSON.
func (i *Instance) REST(t testing.TB, r Request) (proto.Message, *statuspb.Status) {
	t.Helper()
	verb, path, _ := strings.Cut(r.Path, " ")
	var body io.Reader
	if verb != http.MethodGet {
		body = strings.NewReader(r.JSON)
	}
	asked, err := http.NewRequestWithContext(t.Context(), verb, i.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	asked.Header.Set("Authorization", "Bearer "+r.Token)
	asked.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(asked)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(answer.Body); err != nil {
		t.Fatal(err)
	}
	var m proto.Message = dynamicpb.NewMessage(r.Method.Output())
	s := &statuspb.Status{}
	if answer.StatusCode == http.StatusOK {
		err = protojson.Unmarshal(text.Bytes(), m)
	} else {
		m, err = nil, protojson.Unmarshal(text.Bytes(), s)
		if f := fault.FromStatus(s); f.HTTPStatus() != answer.StatusCode {
			t.Errorf("%s is answered with %d", f.ID, answer.StatusCode)
		}
	}
	if err != nil {
		t.Fatalf("%s answered %d %s: %v", r.Path, answer.StatusCode, &text, err)
	}
	return m, s
}

// GRPC makes a call over gRPC.
func (i *Instance) GRPC(t testing.TB, r Request) (proto.Message, *statuspb.Status) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+r.Token)
	out := dynamicpb.NewMessage(r.Method.Output())
	if err := i.Dial(t).Invoke(ctx, r.procedure(), r.message(t), out); err != nil {
		return nil, grpcstatus.Convert(err).Proto()
	}
	return out, &statuspb.Status{}
}

// Connect returns a client of connect, which uses its own protocol unless an option sets another.
func (i *Instance) Connect(
	options ...connect.ClientOption,
) func(testing.TB, Request) (proto.Message, *statuspb.Status) {
	return func(t testing.TB, r Request) (proto.Message, *statuspb.Status) {
		t.Helper()
		options := append(slices.Clone(options), Described(r.Method)...)
		client := connect.NewClient[dynamicpb.Message, dynamicpb.Message](
			http.DefaultClient, i.URL+r.procedure(), options...)
		asked := connect.NewRequest(r.message(t))
		asked.Header().Set("Authorization", "Bearer "+r.Token)
		answer, err := client.CallUnary(t.Context(), asked)
		if err != nil {
			return nil, ConnectStatus(err)
		}
		return answer.Msg, &statuspb.Status{}
	}
}

// Described returns the options of a connect client for a method without generated code.
func Described(m protoreflect.MethodDescriptor) []connect.ClientOption {
	return []connect.ClientOption{
		connect.WithSchema(m),
		connect.WithResponseInitializer(func(_ connect.Spec, out any) error {
			*out.(*dynamicpb.Message) = *dynamicpb.NewMessage(m.Output())
			return nil
		}),
	}
}

// ConnectStatus returns the status in an error of connect.
func ConnectStatus(err error) *statuspb.Status {
	e, ok := errors.AsType[*connect.Error](err)
	if !ok {
		return &statuspb.Status{Code: -1, Message: err.Error()}
	}
	s := &statuspb.Status{Code: int32(e.Code()), Message: e.Message()}
	for _, d := range e.Details() {
		s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type(), Value: d.Bytes()})
	}
	return s
}
