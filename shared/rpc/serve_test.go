package rpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/testkit"
)

type getter = func(context.Context, *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error)

func fails(err error) getter {
	return func(context.Context, *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) { return nil, err }
}

func (w *world) get(ctx context.Context, id string) (*usersv1.GetUserResponse, error) {
	return w.gateway.GetUser(ctx, &usersv1.GetUserRequest{UserId: id})
}

func TestPanicIsAnInternalFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{get: func(_ context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
		if r.UserId == "panic" {
			panic("hidden")
		}
		return &usersv1.GetUserResponse{}, nil
	}})
	ctx := rpc.WithRequestID(w.as("ORG_OWNER"), "the-request")
	_, err := w.get(ctx, "panic")
	if f := wants(t, err, "INTERNAL"); strings.Contains(f.Error(), "hidden") {
		t.Errorf("the answer tells of the inside: %v", f)
	}
	if _, err := w.get(ctx, "next"); err != nil {
		t.Error(err)
	}
	for _, part := range []string{"hidden", "serve_test.go", "the-request", "/herald.users.v1.Users/GetUser"} {
		if !strings.Contains(w.log.String(), part) {
			t.Errorf("the log lacks %q", part)
		}
	}
}

func TestFaultsCrossWholeAndCausesStay(t *testing.T) {
	t.Parallel()
	full := fault.New(fault.Exists, "FULL", "All of it").On("a.b[0]", "is bad").Lacking("user.read", "o").
		After(1500 * time.Millisecond).Because(errors.New("hidden"))
	w := newWorld(t, users{get: func(_ context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
		if r.UserId == "full" {
			return nil, fmt.Errorf("wrapped: %w", full)
		}
		return nil, fmt.Errorf("reading the table: %w", errors.New("hidden"))
	}})
	_, err := w.get(w.as("ORG_OWNER"), "full")
	f := wants(t, err, "FULL")
	if f.Code != fault.Exists || f.Message != "All of it" || fmt.Sprint(f.Fields) != "[{a.b[0] is bad}]" ||
		f.Permission != "user.read" || f.Organization != "o" || f.RetryAfter != 1500*time.Millisecond {
		t.Errorf("crossed as %+v", f)
	}
	if strings.Contains(w.log.String(), "hidden") {
		t.Error("a fault of the caller was logged")
	}
	_, err = w.get(w.as("ORG_OWNER"), "other")
	wants(t, err, "INTERNAL")
	if n := strings.Count(w.log.String(), "reading the table: hidden"); n != 1 {
		t.Errorf("the cause was logged %d times", n)
	}
}

func TestAnswerHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{mine: func(ctx context.Context) (*usersv1.GetMyUserResponse, error) {
		return &usersv1.GetMyUserResponse{}, errors.Join(grpc.SetHeader(ctx, metadata.Pairs("content-language", "de")),
			grpc.SetHeader(ctx, metadata.Pairs("x-a", "1", "x-a", "2")))
	}})
	conn := rpc.NewConn(w.conn, w.signer(), bus.Gateway, w.g.Log)
	answer, err := conn.Forward(w.as(), "/herald.users.v1.Users/GetMyUser", nil)
	if err != nil || fmt.Sprint(answer.Header) != "map[Content-Language:[de] X-A:[1 2]]" {
		t.Errorf("headers %v, %v", answer.Header, err)
	}
}

func TestAnswersThatCannotBeSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{get: func(_ context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
		switch r.UserId {
		case "large":
			return &usersv1.GetUserResponse{User: &usersv1.User{Id: strings.Repeat("x", bus.MaxPayload)}}, nil
		case "fault":
			return nil, fault.ErrInvalidArgument.Say("\xff")
		default:
			return &usersv1.GetUserResponse{User: &usersv1.User{Id: "\xff"}}, nil
		}
	}})
	_, err := w.get(w.as("ORG_OWNER"), "large")
	if f := wants(t, err, "ANSWER_TOO_LARGE"); len(f.Fields) != 1 || f.Fields[0].Path != "query.limit" {
		t.Errorf("fields %v", f.Fields)
	}
	_, err = w.get(w.as("ORG_OWNER"), "fault")
	wants(t, err, "INTERNAL")
	_, err = w.get(w.as("ORG_OWNER"), "text")
	wants(t, err, "INTERNAL")
	if !strings.Contains(w.log.String(), "answer not sent") {
		t.Error("the log does not say why")
	}
	if _, err := w.get(w.as("ORG_OWNER"), strings.Repeat("x", bus.MaxPayload)); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("a request that is too large: %v", err)
	}
}

func TestDeadlineCrosses(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	left := func() time.Duration { return time.Duration(seen.Load()) }
	w := newWorld(t, users{get: func(ctx context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
		at, _ := ctx.Deadline()
		seen.Store(int64(time.Until(at)))
		if r.UserId == "wait" {
			<-ctx.Done()
			return nil, fmt.Errorf("query: %w", ctx.Err())
		}
		return &usersv1.GetUserResponse{}, nil
	}})
	if _, err := w.get(w.as("ORG_OWNER"), "u"); err != nil || left() > 7*time.Second ||
		left() < 2*time.Second {
		t.Errorf("without a limit: %v left, %v", left(), err)
	}
	ctx, cancel := context.WithTimeout(w.as("ORG_OWNER"), 6*time.Second)
	defer cancel()
	if _, err := w.get(ctx, "u"); err != nil || left() > 6*time.Second || left() < time.Second {
		t.Errorf("with 6 s: %v left, %v", left(), err)
	}
	ctx, cancel = context.WithTimeout(w.as("ORG_OWNER"), 100*time.Millisecond)
	defer cancel()
	_, err := w.get(ctx, "wait")
	wants(t, err, "DEADLINE_EXCEEDED")
	long := w.raw("GetUser", nats.Header{"Herald-Caller": {w.signer().Sign(member("ORG_OWNER"))},
		"Herald-Timeout": {"100h"}}, []byte("\x0a\x01u"))
	if long.Header.Get("Fault") != "" || left() > rpc.MaxDuration {
		t.Errorf("with 100 h: %v left", left())
	}
	// The answer is the same whether the method or the server notices the end first.
	short := w.raw("GetUser", nats.Header{"Herald-Caller": {w.signer().Sign(member("ORG_OWNER"))},
		"Herald-Timeout": {"50ms"}}, []byte("\x0a\x04wait"))
	wants(t, faultOf(t, short), "DEADLINE_EXCEEDED")
	ended := w.raw("GetUser", nats.Header{"Herald-Caller": {w.signer().Sign(member("ORG_OWNER"))},
		"Herald-Timeout": {"-1s"}}, []byte("\x0a\x04wait"))
	wants(t, faultOf(t, ended), "DEADLINE_EXCEEDED")
}

// The caller, the request's id and its trace are passed on from service to service.
func TestContextCrosses(t *testing.T) {
	t.Parallel()
	type seen struct {
		caller caller.Caller
		id     string
		trace  trace.SpanContext
	}
	var hops []seen
	note := func(ctx context.Context) {
		hops = append(hops, seen{caller.From(ctx), rpc.RequestID(ctx), trace.SpanContextFromContext(ctx)})
	}
	var w *world
	w = newWorld(t, users{
		get: func(ctx context.Context, _ *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
			note(ctx)
			_, err := w.gateway.GetMyUser(ctx, &usersv1.GetMyUserRequest{})
			return &usersv1.GetUserResponse{}, err
		},
		mine: func(ctx context.Context) (*usersv1.GetMyUserResponse, error) {
			note(ctx)
			return &usersv1.GetMyUserResponse{}, nil
		},
	})
	ctx, span := w.g.Traces.Tracer("client").Start(rpc.WithRequestID(w.as("ORG_OWNER"), "r-1"), "request")
	if _, err := w.get(ctx, "u"); err != nil {
		t.Fatal(err)
	}
	for i, s := range hops {
		if s.caller.UserID != "u" || s.caller.OrganizationID != "o" || s.id != "r-1" ||
			s.trace.TraceID() != span.SpanContext().TraceID() {
			t.Errorf("hop %d: %+v", i+1, s)
		}
	}
	if len(hops) != 2 || hops[0].trace.SpanID() == hops[1].trace.SpanID() ||
		hops[0].trace.SpanID() == span.SpanContext().SpanID() {
		t.Errorf("each hop is a span of its own: %+v", hops)
	}
	// A service's own call has no user as its caller.
	if _, err := w.notification.PrepareMail(t.Context(), &usersv1.PrepareMailRequest{}); err != nil {
		t.Error(err)
	}
}

func TestRequestsAreMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{get: fails(fault.ErrOverloaded)})
	w.serve(users{get: fails(fault.ErrOverloaded)}) // a second service of the process shares the registry
	_, _ = w.get(w.as("ORG_OWNER"), "u")
	_, _ = w.get(w.as(), "u")
	if _, err := w.gateway.GetMyUser(w.as(), &usersv1.GetMyUserRequest{}); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(w.g.Metrics, "herald_rpc_seconds"); n != 3 || err != nil {
		t.Errorf("%d series, want one for each outcome: %v", n, err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{})
	within(t, 5*time.Second, func() {
		conn := rpc.NewConn(w.conn, w.signer(), bus.Gateway, w.g.Log)
		_, err := conn.Forward(w.as(), "/herald.text.v1.Text/ListLanguages", nil)
		if f := wants(t, err, "UNAVAILABLE"); f.RetryAfter == 0 {
			t.Error("it does not say when to try again")
		}
		lost := w.conn.StatusChanged(nats.RECONNECTING)
		bus.Stop(w.g.Bus.Server.(*server.Server))
		<-lost
		_, err = conn.Forward(w.as(), "/herald.users.v1.Users/GetMyUser", nil)
		wants(t, err, "UNAVAILABLE")
	})
	if _, err := rpc.NewConn(w.conn, w.signer(), "", w.g.Log).NewStream(t.Context(), nil, ""); err == nil {
		t.Error("a stream was opened")
	}
	ctx, cancel := context.WithCancel(w.as())
	cancel()
	if _, err := w.gateway.GetMyUser(ctx, &usersv1.GetMyUserRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who is gone: %v", err)
	}
}

// A request fails at once when the connection to NATS is lost: its answer cannot come any more.
// The method that it called still ends, and the server can stop at once.
func TestLostConnectionEndsRequests(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	w := newWorld(t, users{get: g.pass})
	answered := make(chan error, 1)
	go func() {
		_, err := w.get(w.as("ORG_OWNER"), "u")
		answered <- err
	}()
	<-g.entered
	within(t, 5*time.Second, func() {
		lost := w.server.Conn.StatusChanged(nats.RECONNECTING)
		bus.Stop(w.g.Bus.Server.(*server.Server))
		if f := wants(t, <-answered, "UNAVAILABLE"); f.RetryAfter == 0 {
			t.Error("it does not say when to try again")
		}
		<-lost
		g.Open()
		w.server.Drain()
	})
}

// gate lets requests in until it is opened.
type gate struct {
	entered chan struct{}
	open    chan struct{}
	once    sync.Once
}

func newGate(t testing.TB) *gate {
	g := &gate{entered: make(chan struct{}, 10000), open: make(chan struct{})}
	t.Cleanup(g.Open)
	return g
}

func (g *gate) Open() { g.once.Do(func() { close(g.open) }) }

func (g *gate) pass(ctx context.Context, _ *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
	g.entered <- struct{}{}
	select {
	case <-g.open:
		return &usersv1.GetUserResponse{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Slow requests run in parallel. Requests beyond the bound are refused at once, but not those of other
// organizations; when the slow ones have finished, new requests are served.
func TestManyAtOnceAndOverload(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	w := newWorld(t, users{get: g.pass})
	var slow sync.WaitGroup
	for range 128 {
		slow.Go(func() {
			if _, err := w.get(w.as("ORG_OWNER"), "u"); err != nil {
				t.Error(err)
			}
		})
	}
	for range 128 {
		<-g.entered
	}
	within(t, 10*time.Second, func() {
		_, err := w.get(w.as("ORG_OWNER"), "u")
		if f := wants(t, err, "OVERLOADED"); f.Code != fault.Exhausted || f.RetryAfter == 0 {
			t.Errorf("%+v", f)
		}
	})
	flood := nats.NewMsg("rpc.herald.users.v1.Users.GetUser")
	flood.Reply = "_INBOX_gateway.nobody"
	flood.Data, _ = proto.Marshal(&usersv1.GetUserRequest{UserId: "u"})
	flood.Header.Set("Herald-Caller", w.signer().Sign(member("ORG_OWNER")))
	for range 1024 {
		if err := w.conn.PublishMsg(flood); err != nil {
			t.Fatal(err)
		}
	}
	within(t, 1500*time.Millisecond, func() { // the queue is full: without waiting for a turn
		_, err := w.get(w.as("ORG_OWNER"), "u")
		wants(t, err, "OVERLOADED")
	})
	other := member("ORG_OWNER")
	other.OrganizationID = "other"
	other.Memberships[0].OrganizationID = "other"
	slow.Go(func() { // it finds the queue full
		if _, err := w.get(testkit.As(t.Context(), w.g, other), "u"); err != nil {
			t.Errorf("another organization's: %v", err)
		}
	})
	g.Open()
	slow.Wait()
	for start := time.Now(); ; {
		_, err := w.get(w.as("ORG_OWNER"), "u")
		if err == nil {
			break
		}
		if wants(t, err, "OVERLOADED"); time.Since(start) > 20*time.Second {
			t.Fatal("still overloaded")
		}
	}
}

func TestLogsAreLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{get: fails(errors.New("a\r\nb\x1b[31m"))})
	_, err := w.get(rpc.WithRequestID(w.as("ORG_OWNER"), "x"), "u")
	wants(t, err, "INTERNAL")
	lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
	if len(lines) != 1 || !json.Valid([]byte(lines[0])) || strings.ContainsAny(lines[0], "\r\x1b") {
		t.Errorf("logged %q", lines)
	}
}
