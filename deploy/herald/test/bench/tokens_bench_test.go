package bench_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"herald/deploy/herald/test/whole"
)

// BenchmarkTokens compares logins of machine users with a floor that inserts and commits as well.
func BenchmarkTokens(b *testing.B) {
	const clients = 16
	s, floorURL := whole.New(b, "HERALD_LOG_LEVEL=WARN"), startFloor(b)
	s.Start()
	for _, c := range []struct {
		name, format string
		want         float64
	}{
		{"stored token", "OIDC_TOKEN_TYPE_BEARER", 0.4},
		{"JWT", "OIDC_TOKEN_TYPE_JWT", 0.88}, // 9,000/s where the floor reaches 10,200/s
	} {
		id := made(s, "/management/v1/users/machine", `{"userName":"`+c.format+`","name":"ci","accessTokenType":"`+
			c.format+`"}`, "userId")
		_, made := s.Call(http.MethodPut, "/management/v1/users/"+id+"/secret", "{}")
		login := id + ":" + made["clientSecret"].(string)
		client := newClient(clients)
		step := func() error {
			return client.sendAs(http.MethodPost, s.URL+"/oauth/v2/token",
				"Basic "+base64.StdEncoding.EncodeToString([]byte(login)), "application/x-www-form-urlencoded",
				"grant_type=client_credentials&scope=openid")
		}
		figure{c.name, clients, c.want, step, imports(floorURL, "", clients)}.measure(b)
	}
}
