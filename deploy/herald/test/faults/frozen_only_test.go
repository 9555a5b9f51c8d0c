package faults_test

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// The only replica of a service is frozen: a page that needs it says so after three seconds in the reader's language,
// first written by auth, and when that is frozen too by the gateway.
func TestFrozenOnlyReplica(t *testing.T) {
	t.Parallel()
	p := whole.NewProcesses(t, "")
	for _, service := range []string{"users", "text", "auth", "gateway"} {
		p.Start(service)
	}
	link := p.URL + "/ui/login/user/init?userID=nobody&orgID=nowhere&code=ABCDEFGH&passwordset=false"
	open := func() (status int, retry, body string, took time.Duration) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, link, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept-Language", "de")
		began := time.Now()
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		read, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header.Get("Retry-After"), string(read), time.Since(began)
	}
	if status, _, body, _ := open(); status != http.StatusBadRequest { // the code is wrong
		t.Fatalf("before: %d %s", status, body)
	}
	for _, frozen := range []string{"users", "auth"} {
		p.Signal(frozen, syscall.SIGSTOP)
		t.Cleanup(func() { p.Signal(frozen, syscall.SIGCONT) })
		status, retry, body, took := open()
		t.Logf("%s frozen: %d after %s", frozen, status, took.Round(time.Millisecond))
		// Other requests have 7 s.
		if status != http.StatusGatewayTimeout || retry == "" || took > 4*time.Second+spare() ||
			!strings.Contains(body, "Bitte versuchen Sie es gleich noch einmal.") ||
			strings.Contains(body, "<style") != (frozen == "users") {
			t.Errorf("%s frozen: %d after %s, Retry-After %q: %s", frozen, status, took, retry, body)
		}
	}
}
