package start_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// A lifetime that is set over the API counts for the next tokens of all processes without a restart, and after one. An
// environment variable wins.
func TestLifetimesAreSet(t *testing.T) {
	t.Parallel()
	i := whole.Start(t, "HERALD_REFRESH_TOKEN_EXPIRATION=240h")
	machine := i.Must("POST", "/management/v1/users/machine", `{"userName":"ci","name":"CI"}`)["userId"].(string)
	secret := i.Must("PUT", "/management/v1/users/"+machine+"/secret", `{}`)
	valid := func(want time.Duration) {
		t.Helper()
		for begin := time.Now(); ; {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.URL+"/oauth/v2/token",
				strings.NewReader(url.Values{"grant_type": {"client_credentials"}, "scope": {"openid"}}.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.SetBasicAuth(secret["clientId"].(string), secret["clientSecret"].(string))
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Valid float64 `json:"expires_in"`
			}
			err = json.NewDecoder(answer.Body).Decode(&got)
			_ = answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if got.Valid == want.Seconds() {
				return
			}
			if time.Since(begin) > 10*time.Second {
				t.Fatalf("a token is valid for %v s, want %s", got.Valid, want)
			}
		}
	}
	valid(time.Hour)
	i.Must("PUT", "/admin/v1/settings", `{"accessTokenLifetime":"120s","refreshTokenIdleExpiration":"86400s"}`)
	valid(2 * time.Minute)
	if status, answer := i.Call("PUT", "/admin/v1/settings", `{"refreshTokenExpiration":"864001s"}`); status !=
		http.StatusBadRequest || !strings.Contains(answer["message"].(string), "HERALD_REFRESH_TOKEN_EXPIRATION") {
		t.Errorf("a value that the environment sets is answered with %d %v", status, answer)
	}
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	i.Start()
	valid(2 * time.Minute)
	i.Must("PUT", "/admin/v1/settings", `{}`)
	valid(time.Hour)
}
