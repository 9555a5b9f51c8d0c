package replicas_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var races = flag.Int64("races", 400, "how often a token is asked for right after a deactivation")

// login asks a gateway for a token of a client. It returns the status and the token.
func (r *replicas) login(gateway int, id, password string) (status int, token string, err error) {
	form := url.Values{"grant_type": {"client_credentials"},
		"scope": {"openid urn:service:iam:org:project:id:service:aud"}}
	q, err := http.NewRequestWithContext(r.T.Context(), http.MethodPost,
		r.gateways[gateway%len(r.gateways)]+"/oauth/v2/token", strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	q.SetBasicAuth(id, password)
	w, err := r.client.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer w.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	return w.StatusCode, body.Token, json.NewDecoder(w.Body).Decode(&body)
}

// With three replicas and two gateways a token is refused within 100 ms of the end of what it depends on, and no token
// is given any more from that answer on.
func TestLoginsAtThreeReplicas(t *testing.T) {
	r := newReplicas(t, "users", "projects", "auth")
	r.live(t)
	r.given(t)
}

// live makes live tokens of a machine user and ends what they depend on, many times.
func (r *replicas) live(t *testing.T) {
	t.Helper()
	made := r.admin(0, "", "POST", "/management/v1/users/machine", `{"userName":"ci","name":"ci"}`)
	id, _ := made.at("userId").(string)
	r.admin(0, "", "POST", "/management/v1/orgs/me/members",
		fmt.Sprintf(`{"userId":%q,"roles":["ORG_OWNER_VIEWER"]}`, id))
	user := "/management/v1/users/" + id
	for what, end := range map[string]func(n int) answer{
		"a token whose secret was removed": func(n int) answer { return r.admin(n, "", "DELETE", user+"/secret", "") },
		"a token whose user was deactivated": func(n int) answer {
			ended := r.admin(n, "", "POST", user+"/_deactivate", "{}")
			r.admin(n, "", "POST", user+"/_reactivate", "{}")
			return ended
		},
	} {
		prompt(t, what, func(n int) []time.Duration {
			password, _ := r.admin(n, "", "PUT", user+"/secret", "{}").at("clientSecret").(string)
			status, token, err := r.login(n/2, id, password)
			if err != nil || status != http.StatusOK {
				t.Fatalf("%d, %v", status, err)
			}
			r.atOnce(t, token)
			return r.refusedAfter(t, token, http.StatusUnauthorized, end(n/2).came)
		})
	}
}

// given asks for a token right after an application was deactivated, at the other gateway, many times.
func (r *replicas) given(t *testing.T) {
	t.Helper()
	const workers = 8
	project, _ := r.admin(0, "", "POST", "/management/v1/projects", `{"name":"Shop"}`).at("id").(string)
	var (
		left    atomic.Int64
		working sync.WaitGroup
	)
	left.Store(*races)
	for w := range workers {
		working.Go(func() {
			apps := "/management/v1/projects/" + project + "/apps/"
			made := r.admin(w, "", "POST", apps+"api", fmt.Sprintf(`{"name":"app %d"}`, w))
			id, _ := made.at("clientId").(string)
			password, _ := made.at("clientSecret").(string)
			for n := w; left.Add(-1) >= 0 && !t.Failed(); n++ {
				if status, _, err := r.login(n, id, password); err != nil || status != http.StatusOK {
					t.Errorf("an active application: %d, %v", status, err)
				}
				r.admin(n, "", "POST", apps+id+"/_deactivate", "{}")
				if status, _, err := r.login(n+1, id, password); err != nil || status != http.StatusUnauthorized {
					t.Errorf("a deactivated application: %d, %v", status, err)
				}
				r.admin(n, "", "POST", apps+id+"/_reactivate", "{}")
			}
		})
	}
	working.Wait()
	t.Logf("%d times no token was given after a deactivation", *races)
}
