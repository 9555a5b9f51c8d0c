package auth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// postFrom posts a form as a client with that address.
func postFrom(h http.Handler, client, uri string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", uri, strings.NewReader(form.Encode()))
	r.RemoteAddr = client
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A page that asks for a mail is answered before users is asked, which happens while users cannot answer
// too, and once for the requests of one round.
func TestMailsAreRequestedAfterTheAnswer(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	pages := open(t, g, public) // neither users nor text is running
	for _, j := range journeys {
		for range 3 {
			if w := call(t, pages, j.path+"/resend", linked()); w.Code != http.StatusOK {
				t.Errorf("%s: %d", j.kind, w.Code)
			}
		}
	}
	u := &users{asked: make(chan *usersv1.RequestCodeRequest)}
	serveUsers(t, g, u)
	for _, j := range journeys {
		if got, want := <-u.asked, (&usersv1.RequestCodeRequest{Kind: j.kind, UserId: "u1"}); !proto.Equal(got, want) {
			t.Errorf("users was asked %v, want %v", got, want)
		}
	}
	call(t, pages, initialize.path+"/resend", linked("userID", "u2"))
	if got := <-u.asked; got.UserId != "u2" {
		t.Errorf("the mail for %s is requested twice", got.UserId)
	}
}

// What was asked for shortly before a stop is passed on during it.
func TestMailsAreRequestedAtTheStop(t *testing.T) {
	t.Parallel()
	u := &users{asked: make(chan *usersv1.RequestCodeRequest, 1)}
	t.Run("a service", func(t *testing.T) {
		g := testkit.Ground(t)
		serveUsers(t, g, u)
		call(t, open(t, g, public), initialize.path+"/resend", linked())
	})
	select {
	case <-u.asked:
	default:
		t.Error("the request is lost")
	}
}

// A client may post 60 forms a minute that fail or ask for a mail, also at once, and any number that succeed.
func TestPostsOfAClientAreBounded(t *testing.T) {
	t.Parallel()
	g := testkit.Ground(t)
	var ahead atomic.Int64
	g.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	serveUsers(t, g, &users{})
	testkit.Serve(t, g, "text", newText(), &textv1.Text_ServiceDesc)
	h := open(t, g, public)
	wrong, mail := initialize.filled("code", "WRONG222"), initialize.path+"/resend"
	for range 200 {
		if w := postFrom(h, "192.0.2.1", initialize.path, initialize.filled()); w.Code != http.StatusOK {
			t.Fatalf("a form that succeeds: %d", w.Code)
		}
	}
	var wait sync.WaitGroup
	var answered atomic.Int64
	for n := range 100 {
		wait.Go(func() {
			uri, form := initialize.path, wrong
			if n%2 == 0 {
				uri, form = mail, linked()
			}
			if w := postFrom(h, "192.0.2.1", uri, form); w.Code != http.StatusTooManyRequests {
				answered.Add(1)
			}
		})
	}
	wait.Wait()
	if answered.Load() != 60 {
		t.Errorf("%d of 100 posts are answered, want 60", answered.Load())
	}
	w := postFrom(h, "192.0.2.1", initialize.path, initialize.filled())
	checkHeaders(t, w)
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" ||
		textOf(element(parse(t, w.Body.String()), "h1", "", "")) != pageTexts(t, "en")["away.title"] {
		t.Errorf("the next one: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
	}
	if w := postFrom(h, "192.0.2.2", mail, linked()); w.Code != http.StatusOK {
		t.Errorf("another client: %d", w.Code)
	}
	ahead.Add(int64(time.Minute))
	if w := postFrom(h, "192.0.2.1", mail, linked()); w.Code != http.StatusOK {
		t.Errorf("after a minute: %d", w.Code)
	}
}
