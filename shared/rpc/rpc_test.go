package rpc_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/fault"
	_ "herald/shared/gen/herald/notification/v1" // its service calls here
	_ "herald/shared/gen/herald/text/v1"         // its service is the floor of the benchmark
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/testkit"
)

// users implements as much of a contract as a test needs.
type users struct {
	usersv1.UnimplementedUsersServer
	usersv1.UnimplementedCredentialsServer
	usersv1.UnimplementedInternalServer
	get     func(context.Context, *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error)
	mine    func(context.Context) (*usersv1.GetMyUserResponse, error)
	create  func(*usersv1.CreateHumanUserRequest)
	lock    func() error
	reached func(method string)
	// may is the escalation rule; without it every call is allowed.
	may func(ctx context.Context, target *caller.Target) error
}

func (u users) MayActOn(ctx context.Context, target *caller.Target) error {
	if u.may == nil {
		return nil
	}
	return u.may(ctx, target)
}

func (u users) SetPassword(context.Context, *usersv1.SetPasswordRequest) (*usersv1.SetPasswordResponse, error) {
	u.reach("SetPassword")
	return &usersv1.SetPasswordResponse{}, nil
}

func (u users) LockUser(context.Context, *usersv1.LockUserRequest) (*usersv1.LockUserResponse, error) {
	return &usersv1.LockUserResponse{}, u.lock()
}

func (u users) AddMyPersonalAccessToken(context.Context, *usersv1.AddMyPersonalAccessTokenRequest) (
	*usersv1.AddPersonalAccessTokenResponse, error,
) {
	u.reach("AddMyPersonalAccessToken")
	return &usersv1.AddPersonalAccessTokenResponse{}, nil
}

func (u users) reach(method string) {
	if u.reached != nil {
		u.reached(method)
	}
}

func (u users) GetUser(ctx context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
	u.reach("GetUser")
	if u.get == nil {
		return &usersv1.GetUserResponse{User: &usersv1.User{Id: r.UserId}}, nil
	}
	return u.get(ctx, r)
}

func (u users) GetMyUser(ctx context.Context, _ *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	u.reach("GetMyUser")
	if u.mine == nil {
		return &usersv1.GetMyUserResponse{}, nil
	}
	return u.mine(ctx)
}

func (u users) PrepareMail(context.Context, *usersv1.PrepareMailRequest) (*usersv1.PrepareMailResponse, error) {
	u.reach("PrepareMail")
	return &usersv1.PrepareMailResponse{}, nil
}

func (u users) CreateHumanUser(
	_ context.Context, r *usersv1.CreateHumanUserRequest,
) (*usersv1.CreateHumanUserResponse, error) {
	u.reach("CreateHumanUser")
	if u.create != nil {
		u.create(r)
	}
	return &usersv1.CreateHumanUserResponse{}, nil
}

// client calls the services of the contract that users stands in for.
type client struct {
	usersv1.UsersClient
	usersv1.CredentialsClient
	usersv1.InternalClient
}

func newClient(c grpc.ClientConnInterface) client {
	return client{usersv1.NewUsersClient(c), usersv1.NewCredentialsClient(c), usersv1.NewInternalClient(c)}
}

// world is a server of the users contract and those who call it.
type world struct {
	testing.TB
	g      boot.Ground
	log    *testkit.Lines
	server *rpc.Server
	// conn is the gateway's, gateway and notification call over their own.
	conn                  *nats.Conn
	gateway, notification client
}

func newWorld(t testing.TB, u users) *world {
	t.Helper()
	w := &world{TB: t, log: &testkit.Lines{}}
	w.g = testkit.Logged(t, testkit.Ground(t), slog.LevelInfo, w.log)
	w.g.Traces = sdktrace.NewTracerProvider()
	w.server = w.serve(u)
	w.conn = w.connect(bus.Gateway)
	w.gateway = newClient(rpc.NewConn(w.conn, w.signer(), bus.Gateway, w.g.Log))
	w.notification = newClient(testkit.Calls(t, w.g, "notification"))
	return w
}

func (w *world) signer() caller.Signer { return caller.NewSigner(w.g.Keys, w.g.Now) }

// connect connects without a log, which is the service's.
func (w *world) connect(user string) *nats.Conn {
	w.Helper()
	return testkit.Connect(w, testkit.Logged(w, w.g, slog.LevelInfo, io.Discard), user)
}

// serve starts a replica of the service.
func (w *world) serve(u users) *rpc.Server {
	w.Helper()
	s := rpc.NewServer(rpc.Config{Conn: w.connect("users"), Signer: w.signer(), Log: w.g.Log, Metrics: w.g.Metrics,
		Tracer: w.g.Traces.Tracer("users"), Now: w.g.Now})
	for _, contract := range []*grpc.ServiceDesc{
		&usersv1.Users_ServiceDesc, &usersv1.Credentials_ServiceDesc, &usersv1.Internal_ServiceDesc,
	} {
		if err := s.Register(contract, u); err != nil {
			w.Fatal(err)
		}
	}
	return s
}

// member is a user with these roles in the organization acted on.
func member(roles ...string) caller.Caller {
	return caller.Caller{
		UserID: "u", OrganizationID: "o", Memberships: []caller.Membership{{OrganizationID: "o", Roles: roles}},
	}
}

// as is the context of a member's request.
func (w *world) as(roles ...string) context.Context {
	return testkit.As(w.Context(), w.g, member(roles...))
}

// wants fails the test unless err is a received fault with this id.
func wants(t testing.TB, err error, id string) *fault.Fault {
	t.Helper()
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.ID != id {
		t.Errorf("got %v, want %s", err, id)
		return &fault.Fault{}
	}
	return f
}

// within fails if f takes longer than a request that hangs would, at the least.
func within(t testing.TB, limit time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > limit {
		t.Errorf("took %v, more than %v", took, limit)
	}
}

// faultOf reads the fault in an answer.
func faultOf(t testing.TB, m *nats.Msg) error {
	t.Helper()
	var s status.Status
	if err := proto.Unmarshal(m.Data, &s); err != nil || m.Header.Get("Fault") == "" {
		t.Fatalf("no fault but %v, %v", m.Header, err)
	}
	return fault.FromStatus(&s)
}

// raw sends a request as nobody in the system does.
func (w *world) raw(method string, header nats.Header, data []byte) *nats.Msg {
	w.Helper()
	r, err := w.conn.RequestMsg(&nats.Msg{Subject: "rpc.herald.users.v1.Users." + method, Header: header, Data: data},
		10*time.Second)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// One hop through every middleware, beside a raw NATS request as the floor.
func BenchmarkHop(b *testing.B) {
	w := newWorld(b, users{})
	const floor = "rpc.herald.text.v1.Text.ListLanguages"
	echo := w.connect("text")
	if _, err := echo.Subscribe(floor, func(m *nats.Msg) { _ = m.Respond(m.Data) }); err != nil {
		b.Fatal(err)
	}
	if err := echo.Flush(); err != nil {
		b.Fatal(err)
	}
	ctx := w.as("ORG_OWNER")
	for name, request := range map[string]func() error{
		"NATS": func() error {
			_, err := w.conn.Request(floor, []byte("u"), time.Second)
			return err
		},
		"rpc": func() error {
			_, err := w.gateway.GetUser(ctx, &usersv1.GetUserRequest{UserId: "u"})
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := request(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" 64 at once", func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := request(); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
