package maillink_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// A page that asks for a mail is answered before users is asked, which happens while users cannot answer
// too, and once for the requests of one round.
func TestMailsAreRequestedAfterTheAnswer(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	pages := testworld.Open(t, g, testworld.Public) // neither users nor text is running
	for _, j := range testworld.Journeys {
		for range 3 {
			if w := testworld.Call(t, pages, j.Path+"/resend", testworld.Linked()); w.Code != http.StatusOK {
				t.Errorf("%s: %d", j.Kind, w.Code)
			}
		}
	}
	u := &testworld.Users{Asked: make(chan *usersv1.RequestCodeRequest)}
	testworld.ServeUsers(t, g, u)
	for _, j := range testworld.Journeys {
		if got, want := <-u.Asked, (&usersv1.RequestCodeRequest{Kind: j.Kind, UserId: "u1"}); !proto.Equal(got, want) {
			t.Errorf("users was asked %v, want %v", got, want)
		}
	}
	testworld.Call(t, pages, testworld.Initialize.Path+"/resend", testworld.Linked("userID", "u2"))
	if got := <-u.Asked; got.UserId != "u2" {
		t.Errorf("the mail for %s is requested twice", got.UserId)
	}
}

// What was asked for shortly before a stop is passed on during it.
func TestMailsAreRequestedAtTheStop(t *testing.T) {
	t.Parallel()
	u := &testworld.Users{Asked: make(chan *usersv1.RequestCodeRequest, 1)}
	t.Run("a service", func(t *testing.T) {
		g := testkit.Ground(t)
		testworld.ServeUsers(t, g, u)
		testworld.Call(t, testworld.Open(t, g, testworld.Public), testworld.Initialize.Path+"/resend",
			testworld.Linked())
	})
	select {
	case <-u.Asked:
	default:
		t.Error("the request is lost")
	}
}

// A client may post 60 forms a minute that fail or ask for a mail, also at once, and any number that succeed.
func TestPostsOfAClientAreLimitedToSixtyAMinute(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var clock testkit.Clock
	g.Now = clock.Now
	testworld.ServeUsers(t, g, &testworld.Users{})
	testworld.ServeText(t, g)
	h := testworld.Open(t, g, testworld.Public)
	wrong, mail := testworld.Initialize.Filled("code", "WRONG222"), testworld.Initialize.Path+"/resend"
	for range 200 {
		if w := testworld.PostFrom(h, "192.0.2.1", testworld.Initialize.Path,
			testworld.Initialize.Filled()); w.Code != http.StatusOK {
			t.Fatalf("a form that succeeds: %d", w.Code)
		}
	}
	var wait sync.WaitGroup
	var answered atomic.Int64
	for n := range 100 {
		wait.Go(func() {
			uri, form := testworld.Initialize.Path, wrong
			if n%2 == 0 {
				uri, form = mail, testworld.Linked()
			}
			if w := testworld.PostFrom(h, "192.0.2.1", uri, form); w.Code != http.StatusTooManyRequests {
				answered.Add(1)
			}
		})
	}
	wait.Wait()
	if answered.Load() != 60 {
		t.Errorf("%d of 100 posts are answered, want 60", answered.Load())
	}
	w := testworld.PostFrom(h, "192.0.2.1", testworld.Initialize.Path, testworld.Initialize.Filled())
	testworld.CheckHeaders(t, w)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" ||
		testworld.Page(t, w).Find("h1").Text() != testworld.PageTexts(t,
			"en")["away.title"] {
		t.Errorf("the next one: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if w := testworld.PostFrom(h, "192.0.2.2", mail, testworld.Linked()); w.Code != http.StatusOK {
		t.Errorf("another client: %d", w.Code)
	}
	clock.Advance(time.Minute)
	if w := testworld.PostFrom(h, "192.0.2.1", mail, testworld.Linked()); w.Code != http.StatusOK {
		t.Errorf("after a minute: %d", w.Code)
	}
}
