package authorize_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// A person who has to log in comes back to the client afterwards, once.
func TestLoginAnswersRequestOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes []string
		anew    bool // the old login is not enough
	}{
		"nobody is logged in": {nil, false},
		"prompt=login":        {[]string{"prompt", "login"}, true},
		"prompt=consent":      {[]string{"prompt", "consent"}, false},
		"another account":     {[]string{"prompt", "select_account"}, false},
		"max_age":             {[]string{"max_age", "1"}, true},
		"max_age=0":           {[]string{"max_age", "0"}, true},
		"their organization":  {[]string{"scope", "openid urn:service:iam:org:id:o1", "prompt", "login"}, true},
		"an answer by a form": {[]string{"response_mode", "form_post", "prompt", "login"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testworld.NewOAuth(t)
			if test.changes == nil {
				w.Logout()
			}
			w.Advance(2 * time.Second)
			id := w.Waiting(w.Ask(test.changes...))
			if request, err := w.Store.AuthRequest(t.Context(), id); err != nil || request.State != "st" {
				t.Fatalf("%+v %v", request, err)
			}
			if test.anew {
				if old := w.Finish(id); old.Code != 200 || strings.Contains(old.Body.String(), "hrlc_") {
					t.Errorf("with the old login: %d %v", old.Code, old.Header())
				}
			}
			w.Advance(time.Second)
			w.Login()
			w.Advance(time.Minute)
			got := w.Finish(id)
			answer := testworld.To(got) + got.Body.String()
			if got.Code != http.StatusOK || !strings.Contains(answer, "hrlc_") || !strings.Contains(answer, "st") {
				t.Errorf("%d %s", got.Code, answer)
			}
			shown(t, w.Finish(id))
		})
	}
}

// However often a login is finished at once, the client gets one code.
func TestSimultaneousLoginsGetOneCode(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	id := w.Waiting(w.Ask("prompt", "login"))
	w.Advance(time.Millisecond)
	w.Login()
	answers := make([]*httptest.ResponseRecorder, 20)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = w.Finish(id) })
	}
	all.Wait()
	codes := 0
	for _, a := range answers {
		if strings.Contains(testworld.To(a), "hrlc_") {
			codes++
		} else {
			shown(t, a)
		}
	}
	if codes != 1 {
		t.Errorf("%d codes", codes)
	}
}

// Requests without end from one address do not fill the database: those that lead to a login do not count.
func TestTooManyWaitingRequestsAreRefused(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for range 299 {
		w.Waiting(w.Ask("prompt", "login"))
	}
	for range 3 {
		id := w.Waiting(w.Ask("prompt", "login"))
		w.Advance(time.Millisecond)
		w.Login()
		w.Back(w.Finish(id))
	}
	w.Waiting(w.Ask("prompt", "login"))
	if got := w.Ask("prompt", "login"); got.Code != 429 || got.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
	w.Code() // the request of a person who is logged in is not stored
	w.Advance(time.Minute)
	w.Waiting(w.Ask("prompt", "login"))
}

// The person who has logged in must be the one for whom the client has asked.
func TestLoginOfSomebodyElseIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	hint := w.LoggedIn().Text("id_token")
	w.Advance(2 * time.Hour) // the hint has expired, and counts
	w.Login()
	w.Code("id_token_hint", hint, "prompt", "none")
	failed(w, w.Back(w.Finish(w.Waiting(w.Ask("scope", "openid urn:service:iam:org:id:o9")))),
		"account_selection_required")
	w.LoginAs("s2", "bob")
	failed(w, w.Back(w.Ask("id_token_hint", hint, "prompt", "none")), "login_required")
	failed(w, w.Back(w.Finish(w.Waiting(w.Ask("id_token_hint", hint)))), "login_required")
}

// What has changed at the client during the login counts. A request waits for an hour.
func TestClientIsCheckedAgainAfterLogin(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	for name, change := range map[string]func(){
		"another address is registered": func() {
			w.Apps["web"].App.GetOidcConfig().RedirectUris = []string{"https://b.example"}
		},
		"the grant was taken away": func() { w.Apps["web"].App.GetOidcConfig().GrantTypes = nil },
		"it is not active":         func() { w.Apps["web"].App.State = projectsv1.AppState_APP_STATE_INACTIVE },
		"it is gone":               func() { delete(w.Apps, "web") },
	} {
		w.Run(name, func() {
			w.Change(func() { w.Apps = testworld.NewOthers().Apps })
			id := w.Waiting(w.Ask("prompt", "login"))
			w.Change(change)
			w.Login()
			shown(w, w.Finish(id))
		})
	}
	w.Change(func() { w.Apps = testworld.NewOthers().Apps })
	late := w.Waiting(w.Ask("prompt", "login"))
	w.Advance(domain.RequestLifetime)
	w.Login()
	shown(t, w.Finish(late))
}

// A session that ends while a code is issued gets none.
func TestEndedSessionGetsNoCode(t *testing.T) {
	t.Parallel()
	w := testworld.NewOAuth(t)
	id := w.Waiting(w.Ask("prompt", "select_account"))
	ends := func() {
		_, err := w.DB.Exec(t.Context(), `delete from sessions`)
		w.Must(err)
	}
	w.Change(func() { w.Asked = ends })
	failed(w, w.Back(w.Ask("prompt", "none")), "login_required")
	w.Change(func() { w.Asked = nil })
	w.Login()
	w.Change(func() { w.Asked = ends })
	shown(w, w.Finish(id))
	w.Change(func() { w.Asked = nil })
	w.Login()
	if got := w.Back(w.Finish(id)); got.Get("code") == "" { // the request is still there
		t.Errorf("%v", got)
	}
}
