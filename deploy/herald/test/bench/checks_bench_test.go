package bench_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
	"herald/shared/postgres/local"
)

// BenchmarkTokenChecks compares what APIs ask about tokens with a floor that reads one row.
func BenchmarkTokenChecks(b *testing.B) {
	const clients = 16
	server, err := local.Start(b.Context(), local.Options{Dir: whole.Dir(b) + "/postgres"})
	check(b, err)
	b.Cleanup(func() { _ = server.Stop(context.Background()) })
	i := whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_DATABASE_URL="+server.URL())
	user := made(i, "/management/v1/users/machine", `{"userName":"ci","name":"ci"}`, "userId")
	_, secret := i.Call(http.MethodPut, "/management/v1/users/"+user+"/secret", "{}")
	pat := made(i, "/management/v1/users/"+user+"/pats", "{}", "token")
	project := made(i, "/management/v1/projects", `{"name":"Shop"}`, "id")
	_, api := i.Call(http.MethodPost, "/management/v1/projects/"+project+"/apps/api", `{"name":"API"}`)
	token := grant(b, i, secret, "openid urn:service:iam:org:project:id:"+project+":aud")
	bare := newClient(clients)
	floorURL := startFloorOf(b, floorOf, server.URL()) + "/user/" + user
	floor := func() error { return bare.send(http.MethodGet, floorURL, "", "") }
	client := newClient(clients)
	for _, c := range []struct {
		name string
		step func() error
	}{
		{"introspection", func() error {
			return client.sendAs(http.MethodPost, i.URL+"/oauth/v2/introspect", basic(api), form, "token="+token)
		}},
		{"userinfo with a personal access token", func() error {
			return client.send(http.MethodGet, i.URL+"/oidc/v1/userinfo", pat, "")
		}},
	} {
		figure{c.name, clients, 0.5, c.step, floor}.measure(b)
	}
}

const form = "application/x-www-form-urlencoded"

// basic returns the header with which a new client authenticates.
func basic(made map[string]any) string {
	id, secret := made["clientId"].(string), made["clientSecret"].(string)
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(id+":"+secret))
}

// grant returns a token of a machine user.
func grant(b *testing.B, i *whole.Instance, secret map[string]any, scope string) string {
	b.Helper()
	body := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}}.Encode()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, i.URL+"/oauth/v2/token", strings.NewReader(body))
	check(b, err)
	r.Header.Set("Authorization", basic(secret))
	r.Header.Set("Content-Type", form)
	answer, err := http.DefaultClient.Do(r)
	check(b, err)
	defer answer.Body.Close()
	var made struct {
		AccessToken string `json:"access_token"`
	}
	check(b, json.NewDecoder(answer.Body).Decode(&made))
	return made.AccessToken
}
