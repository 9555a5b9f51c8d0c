package replicas_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"herald/deploy/herald/test/whole"
)

// post sends a form from the n-th client to one of the gateways in turn, and returns the status of the answer.
func (r *replicas) post(n int, path string, form url.Values) int {
	q, err := http.NewRequestWithContext(r.T.Context(), http.MethodPost, r.gateways[n%len(r.gateways)]+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		r.T.Error(err)
		return 0
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.Header.Set("Origin", r.URL)
	q.Header.Set("Cookie", whole.Visited)
	q.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.2.%d", n))
	w, err := r.client.Do(q)
	if err != nil {
		r.T.Error(err)
		return 0
	}
	_ = w.Body.Close()
	return w.StatusCode
}

// guess sends a wrong form twenty times at once and twenty times in a row. Ten of them must be answered as wrong and
// all others refused.
func (r *replicas) guess(what, path string, form url.Values) {
	r.T.Helper()
	const guesses = 40
	answers := make([]int, guesses)
	var asking sync.WaitGroup
	for n := range guesses {
		asking.Go(func() { answers[n] = r.post(n, path, form) })
		if n >= guesses/2 {
			asking.Wait()
		}
	}
	count := map[int]int{}
	for _, status := range answers {
		count[status]++
	}
	if count[http.StatusBadRequest] != 10 || count[http.StatusTooManyRequests] != guesses-10 ||
		answers[guesses-1] != http.StatusTooManyRequests {
		r.T.Errorf("%s: %v", what, count)
	}
}

// With three replicas behind two gateways ten guesses at a password or a code are compared. The same number is allowed
// for a login name or a code that does not exist, so that the eleventh guess does not show whether it exists.
func TestGuessesAtThreeReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, "users", "projects", "auth")
	r.admin(0, "", "POST", "/management/v1/users/human/_import", whole.Active("mini"))
	for _, name := range []string{"mini", "nobody", "nobody@example.com"} {
		r.guess(name, "/ui/login/password", url.Values{"name": {name}, "current": {"wrong"}})
	}
	r.admin(0, "", "POST", "/management/v1/users/human/_import", whole.Person("new"))
	for _, id := range []string{"new", "mini", "nobody"} {
		r.guess("a code of "+id, "/ui/login/user/init", url.Values{
			"userID": {id}, "code": {"AAAAAAAA"}, "password": {"correct horse"}, "confirmation": {"correct horse"},
		})
	}
}
