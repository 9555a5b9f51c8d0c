package backchannel_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/testworld"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// claims are those of a logout token.
type claims struct {
	Iss, Sub, Sid, Jti string
	Aud                []string
	Iat, Exp           int64
	Events             map[string]any
}

// An application gets a logout token that it can verify, by a form, once.
func TestLogoutTokenIsSentOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, 1)
	requests := make(chan *http.Request, 2)
	w.serve("web", func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		requests <- r
	})
	w.queue("web", "o1", 0)
	w.until(empty)
	r := <-requests
	if r.Method != "POST" || r.URL.RequestURI() != "/logout?tenant=1" || len(r.PostForm) != 1 ||
		r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || len(requests) != 0 {
		t.Errorf("%s %s %v %v, %d more", r.Method, r.URL, r.Header, r.PostForm, len(requests))
	}
	var set jose.JSONWebKeySet
	jwks, _ := w.keys.JWKS(t.Context())
	w.must(json.Unmarshal(jwks, &set))
	signed, err := jose.ParseSignedCompact(r.PostForm.Get("logout_token"), []jose.SignatureAlgorithm{jose.RS256})
	w.must(err)
	if typ := signed.Signatures[0].Header.ExtraHeaders[jose.HeaderType]; typ != "logout+jwt" {
		t.Errorf("typ is %v", typ)
	}
	payload, err := signed.Verify(set)
	w.must(err)
	var c claims
	w.must(json.Unmarshal(payload, &c))
	now := time.Now().Unix()
	if c.Jti == "" || c.Iat > now-5 || c.Iat < now-40 || c.Exp < now+90 || c.Exp > now+125 {
		t.Errorf("%s", payload)
	}
	c.Jti, c.Iat, c.Exp = "", 0, 0
	if want := (claims{Iss: testworld.Public, Sub: "u1", Sid: "s1", Aud: []string{"web"}, Events: map[string]any{
		"http://schemas.openid.net/event/backchannel-logout": map[string]any{},
	}}); !reflect.DeepEqual(c, want) || strings.Contains(string(payload), "nonce") {
		t.Errorf("%s", payload)
	}
	if _, err := w.keys.Verify(signing.IDToken(), r.PostForm.Get("logout_token")); err == nil {
		t.Error("a logout token is taken for an id token")
	}
	if line := w.lines.Wait(t, "was notified of a logout"); !strings.Contains(line, "web") {
		t.Errorf("logged is %s", line)
	}
}

// The answer of an application decides whether it is notified again.
func TestAnswerDecidesOnNextTry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		result string
		logged string
	}{
		"200":             {status(200), "delivered", "was notified"},
		"204":             {status(204), "delivered", "was notified"},
		"400":             {status(400), "refused", "answered 400"},
		"404":             {status(404), "refused", "answered 404"},
		"a redirect":      {http.RedirectHandler("/further", http.StatusFound).ServeHTTP, "refused", "answered 302"},
		"429":             {status(429), "failed", "answered 429"},
		"500":             {status(500), "failed", "answered 500"},
		"503":             {status(503), "failed", "answered 503"},
		"a broken answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "failed", "EOF"},
		"an endless body": {func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			for r.Context().Err() == nil {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		}, "delivered", "was notified"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, true, 1)
			var asked atomic.Int32
			w.serve("web", func(out http.ResponseWriter, r *http.Request) {
				if asked.Add(1) > 1 || r.URL.Path != "/logout" {
					t.Errorf("asked again, or for %s", r.URL)
				}
				test.answer(out, r)
			})
			w.queue("web", "o1", 0)
			line := w.lines.Wait(t, `"application":"web"`)
			again := strings.Contains(line, `"again":true`)
			if !strings.Contains(line, test.logged) || again != (test.result == "failed") {
				t.Errorf("logged is %s", line)
			}
			if test.result == "failed" {
				w.until(`exists (select from logouts where tries = 1 and due_at < now() + interval '6 s')`)
			} else {
				w.until(empty)
			}
			w.counted(test.result)
			if strings.Contains(w.lines.String(), "tenant=1") {
				t.Error("the query of the address is in the log")
			}
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// After the fifth try an application is given up.
func TestFifthTryIsTheLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, 1)
	w.serve("web", status(500))
	w.queue("web", "o1", 3)
	w.until(`exists (select from logouts where tries = 4 and due_at > now() + interval '9 minutes')`)
	w.dueNow()
	w.until(empty)
	w.lines.Wait(t, `"again":false`)
}

// Nothing is sent to an address inside of the own network unless the operator allows it, and the log has the reason.
func TestPrivateAddressGetsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, false, 1)
	w.serve("web", func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
	w.queue("web", "o1", 0)
	w.until(empty)
	if line := w.lines.Wait(t, `"application":"web"`); !strings.Contains(line, "HERALD_OUTBOUND_PRIVATE") {
		t.Errorf("logged is %s", line)
	}
	w.counted("refused")
}

// An application that was removed or deactivated, or has no address any more, is not notified.
func TestUnavailableApplicationIsNotNotified(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *projects){
		"gone":        func(p *projects) { delete(p.uris, "web") },
		"deactivated": func(p *projects) { p.state = projectsv1.AppState_APP_STATE_INACTIVE },
		"no address":  func(p *projects) { p.uris["web"] = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, true, 1)
			w.serve("web", func(http.ResponseWriter, *http.Request) { t.Error("a request was made") })
			w.change(change)
			w.queue("web", "o1", 0)
			w.until(empty)
			w.counted("dropped")
		})
	}
}

// A try does not count if the service projects fails.
func TestFailureOfProjectsIsNoTry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, 1)
	w.serve("web", status(200))
	w.change(func(p *projects) { p.fails = fault.ErrInternal })
	w.queue("web", "o1", 4)
	w.until(`exists (select from logouts where tries = 4 and fence = 1 and due_at < now() + interval '6 s')`)
	w.dueNow()
	w.until(empty)
	w.counted("delivered")
}

// Applications that do not answer hold up others of the same organization only, and no more than a few are asked at
// once.
func TestSlowApplicationsDelayOwnOrganizationOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, 1)
	asked, release := make(chan struct{}, 20), make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(release) }) }
	defer free()
	for _, id := range strings.Fields("a b c d e f g h") {
		w.serve(id, func(http.ResponseWriter, *http.Request) {
			asked <- struct{}{}
			<-release
		})
		w.queue(id, "slow", 0)
	}
	for range 4 {
		<-asked
	}
	answered := make(chan struct{})
	w.serve("web", func(http.ResponseWriter, *http.Request) { close(answered) })
	w.queue("web", "quick", 0)
	select {
	case <-answered:
	case <-time.After(4 * time.Second):
		t.Error("the application of another organization waits for slow ones")
	}
	w.until(`(select count(*) from logouts where fence > 0) = 4`)
	if n := len(asked); n != 0 {
		t.Errorf("%d more are asked at once", n)
	}
	free()
	w.until(empty)
}

// Replicas share the work: each application is notified of a logout once.
func TestReplicasNotifyOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, true, 2)
	var notified sync.Map
	for i := range 40 {
		id := fmt.Sprint("app", i)
		w.serve(id, func(http.ResponseWriter, *http.Request) {
			if _, twice := notified.LoadOrStore(id, true); twice {
				t.Errorf("%s is notified twice", id)
			}
		})
		w.queue(id, fmt.Sprint("org", i%10), 0)
		w.replicas[1].Wake()
	}
	w.until(empty)
	n := 0
	notified.Range(func(any, any) bool { n++; return true })
	if n != 40 {
		t.Errorf("%d are notified", n)
	}
}
