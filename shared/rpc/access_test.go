package rpc_test

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/shared/caller"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/secret"
	"herald/shared/testkit"
)

func TestCallersMustBeAuthentic(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	w := newWorld(t, users{reached: func(string) { reached.Add(1) }})
	past := caller.NewSigner(w.g.Keys, func() time.Time { return w.g.Now().Add(-caller.Lifetime - time.Second) })
	others, err := secret.ParseKeys(secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]nats.Header{
		"none":      nil,
		"empty":     {"Herald-Caller": {""}},
		"garbage":   {"Herald-Caller": {"garbage"}},
		"expired":   {"Herald-Caller": {past.Sign(member("ORG_OWNER"))}},
		"other key": {"Herald-Caller": {caller.NewSigner(others, w.g.Now).Sign(member("ORG_OWNER"))}},
		"unsigned":  {"Herald-Caller": {strings.SplitAfter(w.signer().Sign(member("ORG_OWNER")), ".")[0]}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, method := range []string{"GetUser", "GetMyUser"} {
				if f := wants(t, faultOf(t, w.raw(method, header, nil)),
					fault.ErrCallerNotAuthentic.ID); f.Code != fault.Unauthenticated {
					t.Errorf("%s with %s: %v", method, name, f)
				}
			}
		})
	}
	if reached.Load() != 0 {
		t.Error("a method was reached")
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{})
	conn := w.connect("notification")
	// notifier calls from a connection that may send to PrepareMail, in the name of any service.
	notifier := func(service string) client {
		return newClient(rpc.NewConn(conn, w.signer(), service, w.g.Log))
	}
	get := func(ctx context.Context) error {
		_, err := w.gateway.GetUser(ctx, &usersv1.GetUserRequest{UserId: "x"})
		return err
	}
	mine := func(ctx context.Context) error {
		_, err := w.gateway.GetMyUser(ctx, &usersv1.GetMyUserRequest{})
		return err
	}
	mail := func(service string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := notifier(service).PrepareMail(ctx, &usersv1.PrepareMailRequest{})
			return err
		}
	}
	elsewhere := testkit.As(t.Context(), w.g, caller.Caller{UserID: "u", OrganizationID: "other"})
	for name, c := range map[string]struct {
		call func(context.Context) error
		ctx  context.Context
		want string
	}{
		"permission, held":          {get, w.as("ORG_OWNER"), ""},
		"permission, not held":      {get, w.as("ORG_PROJECT_CREATOR"), "PERMISSION_DENIED"},
		"permission, no role":       {get, w.as(), "PERMISSION_DENIED"},
		"permission, elsewhere":     {get, elsewhere, "PERMISSION_DENIED"},
		"permission, a service":     {get, t.Context(), "UNAUTHENTICATED"},
		"authenticated":             {mine, w.as(), ""},
		"authenticated, a service":  {mine, t.Context(), "UNAUTHENTICATED"},
		"internal, the one named":   {mail("notification"), t.Context(), ""},
		"internal, another service": {mail("auth"), t.Context(), "PERMISSION_DENIED"},
		"internal, a user":          {mail("notification"), w.as("ORG_OWNER"), "PERMISSION_DENIED"},
		"internal, nobody":          {mail(""), t.Context(), "PERMISSION_DENIED"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.call(c.ctx); c.want != "" {
				wants(t, err, c.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	f := wants(t, get(w.as("ORG_PROJECT_CREATOR")), "PERMISSION_DENIED")
	if f.Permission != "user.read" || f.Organization != "o" || !strings.Contains(f.Message, "user.read") {
		t.Errorf("the refusal does not say what is lacking: %+v", f)
	}
}

func TestFieldRules(t *testing.T) {
	t.Parallel()
	var got *usersv1.CreateHumanUserRequest
	w := newWorld(t, users{create: func(r *usersv1.CreateHumanUserRequest) { got = r }})
	if _, err := w.gateway.CreateHumanUser(w.as("ORG_OWNER"), &usersv1.CreateHumanUserRequest{
		UserName: " \t mini\u00a0", Profile: &usersv1.Profile{FirstName: " Mini ", LastName: "Mouse\n"},
		Email: &usersv1.Email{Email: " mini@example.com "}, InitialPassword: " kept ",
	}); err != nil {
		t.Fatal(err)
	}
	if got.UserName != "mini" || got.Profile.FirstName != "Mini" || got.Profile.LastName != "Mouse" ||
		got.Email.Email != "mini@example.com" || got.InitialPassword != " kept " {
		t.Errorf("trimmed to %v", got)
	}
	_, err := w.gateway.CreateHumanUser(w.as("ORG_OWNER"), &usersv1.CreateHumanUserRequest{
		UserName: "  ", Profile: &usersv1.Profile{FirstName: "a\x01b", LastName: strings.Repeat("ä", 201)},
		Phone: &usersv1.Phone{Phone: "1"},
	})
	f := wants(t, err, "INVALID_ARGUMENT")
	var paths []string
	for _, v := range f.Fields {
		paths = append(paths, v.Path)
		if v.Reason == "" || !strings.Contains(f.Message, v.Path+": "+v.Reason) {
			t.Errorf("%s: %q in %q", v.Path, v.Reason, f.Message)
		}
	}
	if s := strings.Join(paths, " "); s != "profile.firstName userName profile.lastName email phone.phone" {
		t.Errorf("fields %q", s)
	}
	if _, err := w.gateway.CreateHumanUser(w.as(), &usersv1.CreateHumanUserRequest{}); err == nil {
		t.Error("rules before permission")
	} else {
		wants(t, err, "PERMISSION_DENIED")
	}
}

func TestImpossibleIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{})
	for id, want := range map[string]string{
		"":                          "INVALID_ARGUMENT",
		strings.Repeat("ä", 200):    "",
		strings.Repeat("a", 201):    "NOT_FOUND",
		"nul\x00":                   "NOT_FOUND",
		strings.Repeat("a", 10_000): "NOT_FOUND",
	} {
		t.Run(id, func(t *testing.T) {
			_, err := w.gateway.GetUser(w.as("ORG_OWNER"), &usersv1.GetUserRequest{UserId: id})
			if want == "" && err != nil {
				t.Errorf("%.20q: %v", id, err)
			}
			if want != "" {
				wants(t, err, want)
			}
		})
	}
	_, err := w.gateway.GetUser(w.as(), &usersv1.GetUserRequest{UserId: "nul\x00"})
	wants(t, err, "PERMISSION_DENIED")
}

func TestMalformedRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{reached: func(m string) { t.Errorf("%s was reached", m) }})
	conn := rpc.NewConn(w.conn, w.signer(), "gateway", w.g.Log)
	_, err := conn.Forward(w.as("ORG_OWNER"), "/herald.users.v1.Users/GetUser", []byte("\x0a\xff"))
	wants(t, err, "INVALID_ARGUMENT")
	_, err = conn.Forward(w.as("ORG_OWNER"), "/herald.users.v1.Users/GetUser", []byte("\x0a\x01\xff")) // not UTF-8
	wants(t, err, "INVALID_ARGUMENT")
	_, err = conn.Forward(w.as(), "/herald.users.v1.Users/GetUser", []byte("\x0a\xff"))
	wants(t, err, "PERMISSION_DENIED")
}

// A request with two headers of the caller is refused: one reader could check the first and another
// one use the second.
func TestTwoHeadersOfTheCallerAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{reached: func(m string) { t.Errorf("%s was reached", m) }})
	good := w.signer().Sign(member("ORG_OWNER"))
	for _, values := range [][]string{{good, good}, {good, "garbage"}, {"garbage", good}, {"", good}} {
		wants(t, faultOf(t, w.raw("GetUser", nats.Header{"Herald-Caller": values}, nil)),
			fault.ErrCallerNotAuthentic.ID)
	}
}

// A service that works for a user can make calls as itself. The other data of the request stay the same.
func TestOnOwnBehalf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, users{})
	conn := w.connect("notification")
	received := make(chan *nats.Msg, 2)
	echo := w.connect("text")
	if _, err := echo.Subscribe("rpc.herald.text.v1.Text.ResolveMessageText", func(m *nats.Msg) {
		received <- m
		_ = m.Respond(nil)
	}); err != nil {
		t.Fatal(err)
	}
	if err := echo.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(rpc.WithRequestID(w.as("ORG_OWNER"), "r-1"), 10*time.Second)
	defer cancel()
	ctx, span := w.g.Traces.Tracer("client").Start(ctx, "request")
	defer span.End()
	calls := rpc.NewConn(conn, w.signer(), "notification", w.g.Log)
	for _, ctx := range []context.Context{rpc.OnOwnBehalf(ctx), ctx} {
		if _, err := calls.Forward(ctx, "/herald.text.v1.Text/ResolveMessageText", nil); err != nil {
			t.Fatal(err)
		}
	}
	own, users := <-received, <-received
	for m, want := range map[*nats.Msg]caller.Caller{own: {Service: "notification"}, users: member("ORG_OWNER")} {
		got, err := w.signer().Verify(m.Header.Get("Herald-Caller"))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("called as %+v, %v, want %+v", got, err, want)
		}
		limit, err := time.ParseDuration(m.Header.Get("Herald-Timeout"))
		if err != nil || limit > 10*time.Second || m.Header.Get("Herald-Request-Id") != "r-1" ||
			!strings.Contains(m.Header.Get("Traceparent"), span.SpanContext().TraceID().String()) {
			t.Errorf("the request's time, id or trace is lost: %v", m.Header)
		}
	}
}
