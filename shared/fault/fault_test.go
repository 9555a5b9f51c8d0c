package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"herald/shared/fault"
)

var errThing = fault.New(fault.NotFound, "THING_NOT_FOUND", "Thing not found")

func TestHTTPStatus(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]int{
		fault.Invalid: 400, fault.Deadline: 504, fault.NotFound: 404, fault.Exists: 409, fault.Denied: 403,
		fault.Exhausted: 429, fault.Precondition: 400, fault.Unimplemented: 405, fault.Internal: 500,
		fault.Unavailable: 503, fault.Unauthenticated: 401, 0: 500, 2: 500, 99: 500,
	} {
		if got := fault.New(code, "X", "").HTTPStatus(); got != want {
			t.Errorf("code %d is HTTP %d, want %d", code, got, want)
		}
	}
	if got := errThing.WithStatus(http.StatusRequestEntityTooLarge).Say("more").HTTPStatus(); got != 413 ||
		errThing.HTTPStatus() != 404 {
		t.Errorf("a status of its own: %d", got)
	}
}

// Each fault after which a new try is useful has a time for it, even if it was received without one.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for code, want := range map[fault.Code]time.Duration{
		fault.Exhausted: time.Second, fault.Unavailable: time.Second, fault.Invalid: 0, fault.Internal: 0,
	} {
		received := fault.FromStatus(&status.Status{Code: int32(code)})
		for _, f := range []*fault.Fault{fault.New(code, "X", ""), received} {
			if f.RetryAfter != want {
				t.Errorf("code %d: after %s", code, f.RetryAfter)
			}
		}
	}
	if f := fault.ErrOverloaded.After(time.Minute); f.RetryAfter != time.Minute {
		t.Errorf("after %s", f.RetryAfter)
	}
}

// A fault that is sent and received again is the same, without its cause and HTTP status.
func TestStatusRoundTrip(t *testing.T) {
	t.Parallel()
	for _, f := range []*fault.Fault{
		errThing,
		errThing.On("a.b[0]", "is bad").On("c", ""),
		errThing.Lacking("user.read", "o"),
		errThing.Lacking("user.read", ""),
		errThing.After(1500 * time.Millisecond),
		errThing.Say("%s", "ü \"%d\" \n"),
		errThing.On("a", "b").Lacking("user.read", "o").After(time.Hour),
		fault.ErrAnswerTooLarge,
	} {
		wire, err := proto.Marshal(f.Because(errors.New("hidden")).Status())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(wire), "hidden") {
			t.Errorf("%v tells its cause", f)
		}
		var s status.Status
		if err := proto.Unmarshal(wire, &s); err != nil {
			t.Fatal(err)
		}
		if got := fault.FromStatus(&s); !reflect.DeepEqual(got, f) {
			t.Errorf("%+v became %+v", f, got)
		}
	}
}

func TestFromForeignStatus(t *testing.T) {
	t.Parallel()
	unknown, err := anypb.New(durationpb.New(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	f := fault.FromStatus(&status.Status{
		Code: 5, Message: "m", Details: []*anypb.Any{
			unknown, {TypeUrl: "x/not.Known"}, {TypeUrl: unknown.TypeUrl, Value: []byte("\xff")},
		},
	})
	if f.Code != fault.NotFound || f.ID != "INTERNAL" || f.Message != "m" {
		t.Errorf("%+v", f)
	}
	if f := fault.FromStatus(&status.Status{}); f.HTTPStatus() != 500 {
		t.Errorf("%+v", f)
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	crossed := fault.FromStatus(errThing.Say("other").On("a", "b").Status())
	for _, err := range []error{
		errThing, crossed, fmt.Errorf("wrapped: %w", crossed), errors.Join(errors.New("x"), crossed),
		fault.ErrPermissionDenied.Because(errThing),
	} {
		if !errors.Is(err, errThing) {
			t.Errorf("%v is not the fault it was declared as", err)
		}
	}
	for _, err := range []error{
		fault.New(fault.NotFound, "OTHER", "Thing not found"), errors.New("THING_NOT_FOUND"), context.Canceled,
	} {
		if errors.Is(err, errThing) {
			t.Errorf("%v is the fault", err)
		}
	}
	if errors.Is(errThing, context.Canceled) || !errors.Is(errThing.Because(context.Canceled), context.Canceled) {
		t.Error("the cause is in the chain")
	}
}

// Adding to a declared fault changes neither it nor its other copies.
func TestCopiesDoNotAlias(t *testing.T) {
	t.Parallel()
	base := fault.New(fault.Invalid, "BASE", "base").On("a", "1")
	base.Fields = slices.Grow(base.Fields, 10)
	before := *base
	one, two := base.On("b", "2"), base.On("c", "3")
	_ = base.Say("x %d", 1).Lacking("p", "o").After(time.Second).Because(errors.New("e")).WithStatus(418)
	if !reflect.DeepEqual(*base, before) {
		t.Errorf("the declared fault became %+v", base)
	}
	if one.Fields[1].Path != "b" || two.Fields[1].Path != "c" {
		t.Errorf("copies share fields: %v, %v", one.Fields, two.Fields)
	}
}

// A fault names at most 20 fields, and says that there are more.
func TestNaming(t *testing.T) {
	t.Parallel()
	base := errThing.On("old", "is gone")
	f := base.Naming(fault.Field{Path: "a", Reason: "is 100 %"}, fault.Field{Path: "b[0]", Reason: "is bad"})
	if !errors.Is(f, errThing) || f.Message != "a: is 100 %; b[0]: is bad" || len(f.Fields) != 2 ||
		f.Fields[0].Path != "a" || f.Fields[1].Reason != "is bad" {
		t.Errorf("%v %v", f, f.Fields)
	}
	many := slices.Repeat(f.Fields, 10)
	if f = base.Naming(many...); len(f.Fields) != 20 || strings.Contains(f.Message, "more") {
		t.Errorf("20: %d fields, %s", len(f.Fields), f.Message)
	}
	f = base.Naming(append(many, fault.Field{Path: "last"})...)
	if len(f.Fields) != 20 || !strings.HasSuffix(f.Message, "b[0]: is bad; and more") {
		t.Errorf("21: %d fields, %s", len(f.Fields), f.Message)
	}
	if len(base.Fields) != 1 || base.Message != errThing.Message {
		t.Errorf("the fault became %+v", base)
	}
}

func TestFromHidesCauses(t *testing.T) {
	t.Parallel()
	f := fault.From(fmt.Errorf("dial 10.0.0.1: %w", errors.New("password wrong")))
	if f.ID != "INTERNAL" || f.Code != fault.Internal || strings.Contains(f.Message+f.Status().String(), "10.0.0.1") {
		t.Errorf("%+v", f)
	}
	if f.Error() != "INTERNAL: "+fault.ErrInternal.Message+": dial 10.0.0.1: password wrong" {
		t.Errorf("the log reads %q", f.Error())
	}
	if errThing.Error() != "THING_NOT_FOUND: Thing not found" {
		t.Errorf("the log reads %q", errThing.Error())
	}
	if got := fault.From(fmt.Errorf("while reading: %w", errThing)); got != errThing {
		t.Errorf("%+v", got)
	}
	if fault.ErrInternal.Unwrap() != nil {
		t.Error("the declared fault has a cause now")
	}
}

// A detail that is not valid UTF-8 is left out; the rest of the fault is sent.
func TestStatusOfBrokenText(t *testing.T) {
	t.Parallel()
	s := errThing.On("a", "\xff").Status()
	if got := fault.FromStatus(s); got.ID != errThing.ID || len(got.Fields) != 0 {
		t.Errorf("%+v", got)
	}
}
