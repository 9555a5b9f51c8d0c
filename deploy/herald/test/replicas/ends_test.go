package replicas_test

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/secret"
)

var deactivations = flag.Int("deactivations", 20, "how often an application is deactivated")

// shop is an application in which a person has logged in, and an API that checks its tokens.
type shop struct {
	*replicas
	apps, id, api, apiSecret string
	cookies                  []*http.Cookie
}

func openShop(r *replicas) *shop {
	r.T.Helper()
	project, _ := r.admin(0, "", "POST", "/management/v1/projects", `{"name":"Shop"}`).at("id").(string)
	s := &shop{replicas: r, apps: "/management/v1/projects/" + project + "/apps/"}
	s.id, _ = r.admin(0, "", "POST", s.apps+"oidc", fmt.Sprintf(
		`{"name":"App","appType":"OIDC_APP_TYPE_NATIVE","authMethodType":"OIDC_AUTH_METHOD_TYPE_NONE",
		"redirectUris":[%q]}`, redirectURI)).at("clientId").(string)
	api := r.admin(0, "", "POST", s.apps+"api", `{"name":"API"}`)
	s.api, _ = api.at("clientId").(string)
	s.apiSecret, _ = api.at("clientSecret").(string)
	r.admin(0, "", "POST", "/management/v1/users/human/_import", strings.Replace(whole.Active("mini"),
		fmt.Sprintf(`"hashedPassword":{"value":%q}`, whole.Hash), fmt.Sprintf(`"password":%q`, password), 1))
	return s
}

// token returns a token of the person. The first one takes the password, the others the login of the browser.
func (s *shop) token() string {
	s.T.Helper()
	verifier := secret.RandomString(50)
	query := url.Values{"client_id": {s.id}, "redirect_uri": {redirectURI}, "response_type": {"code"},
		"scope": {"openid"}, "code_challenge_method": {"S256"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(secret.Hash(verifier))}}
	back, _ := s.browse(0, http.MethodGet, "/oauth/v2/authorize?"+query.Encode(), nil, s.cookies...)
	if s.cookies == nil {
		back, s.cookies = s.browse(1, http.MethodPost, "/ui/login/password",
			url.Values{"request": {back.Query().Get("request")}, "name": {"mini"}, "current": {password}})
	}
	w, err := s.client.PostForm(s.gateways[0]+"/oauth/v2/token", url.Values{"grant_type": {"authorization_code"},
		"client_id": {s.id}, "redirect_uri": {redirectURI}, "code": {back.Query().Get("code")},
		"code_verifier": {verifier}})
	if err != nil {
		s.T.Fatal(err)
	}
	defer w.Body.Close()
	var got struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(w.Body).Decode(&got); err != nil || got.Token == "" {
		s.T.Fatalf("%s: no token: %v", back, err)
	}
	return got.Token
}

// checks are the ways to use a token, by name. They report whether it is taken as live.
func (s *shop) checks(token string) map[string]func(gateway int) (live bool, err error) {
	read := func(path string) func(int) (bool, error) {
		return func(gateway int) (bool, error) {
			a, err := s.ask(gateway, token, "", "GET", path, "")
			if err == nil && a.status != http.StatusOK && a.status != http.StatusUnauthorized {
				err = fmt.Errorf("%d %v", a.status, a.body)
			}
			return a.status == http.StatusOK, err
		}
	}
	return map[string]func(int) (bool, error){
		"the gateway": read("/auth/v1/users/me"), "userinfo": read("/oidc/v1/userinfo"),
		"introspection": func(gateway int) (bool, error) {
			q, err := http.NewRequestWithContext(s.T.Context(), http.MethodPost,
				s.gateways[gateway]+"/oauth/v2/introspect", strings.NewReader("token="+token))
			if err != nil {
				return false, err
			}
			q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			q.SetBasicAuth(s.api, s.apiSecret)
			w, err := s.client.Do(q)
			if err != nil {
				return false, err
			}
			defer w.Body.Close()
			var body struct {
				Active *bool
				Error  string
			}
			if err := json.NewDecoder(w.Body).Decode(&body); err != nil {
				return false, err
			}
			if body.Active == nil {
				return false, fmt.Errorf("%d %s", w.StatusCode, body.Error)
			}
			return *body.Active, nil
		},
	}
}

// With three replicas and two gateways, the token of a person is dead within 100 ms of the deactivation of its
// application: at the gateway, introspection and userinfo.
func TestApplicationsEndAtThreeReplicas(t *testing.T) {
	s := openShop(newReplicas(t, "users", "projects", "text", "auth"))
	late := map[string][]time.Duration{}
	for n := 0; n < *deactivations && !t.Failed(); n++ {
		checks := s.checks(s.token())
		for name, live := range checks {
			for g := range s.gateways {
				if ok, err := live(g); !ok || err != nil {
					t.Fatalf("%s refuses a new token at gateway %d: %v", name, g, err)
				}
			}
		}
		end := s.admin(n, "", "POST", s.apps+s.id+"/_deactivate", "{}").came
		var (
			asking sync.WaitGroup
			mu     sync.Mutex
		)
		for name, live := range checks {
			for g := range s.gateways {
				asking.Go(func() {
					last := liveFor(t, name, func() (bool, error) { return live(g) }, end)
					mu.Lock()
					defer mu.Unlock()
					late[name] = append(late[name], last)
				})
			}
		}
		asking.Wait()
		s.admin(n, "", "POST", s.apps+s.id+"/_reactivate", "{}")
	}
	for name, all := range late {
		within(t, name+" took a token of an application that was deactivated", all)
	}
}

// liveFor asks until a token was refused three times running. It returns how long after its end a question was asked
// that was answered as if it were live.
func liveFor(t *testing.T, name string, live func() (bool, error), end time.Time) (late time.Duration) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for refusals := 0; refusals < 3; <-tick.C {
		asked := time.Now()
		ok, err := live()
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
			return late
		case !ok:
			refusals++
		case refusals > 0:
			t.Errorf("%s refused and lets in again", name)
			return late
		default:
			if late = asked.Sub(end); late > cacheTime {
				t.Errorf("%s let in %s after the end", name, late)
				return late
			}
		}
	}
	return late
}
