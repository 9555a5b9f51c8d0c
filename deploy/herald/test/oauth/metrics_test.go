package oauth_test

import (
	"io"
	"maps"
	"net/http"
	"regexp"
	"testing"

	"herald/deploy/herald/test/whole"
)

var grantLine = regexp.MustCompile(`(?m)^herald_grants_total\{grant="([^"]*)",result="([^"]*)"\} (\d+)$`)

// The operator's port counts the requests to the token endpoint by grant and result. Whatever a client sends, there are
// no other names in it than those of grants and errors.
func TestGrantsAreCounted(t *testing.T) {
	t.Parallel()
	ops := whole.FreeAddress(t)
	w := start(t, "HERALD_OPS_LISTEN="+ops)
	id := w.machine("ci")
	secret, file := w.secretOf(id), w.keyOf(id)
	w.token(secret, "grant_type", "client_credentials")
	w.token(secret, "grant_type", "client_credentials")
	w.token("", "grant_type", bearer, "assertion", w.sign(file, w.claims(id, nil)))
	w.post("/oauth/v2/token", id+":wrong", "grant_type", "client_credentials")
	w.post("/oauth/v2/token", "", "grant_type", bearer, "assertion", "x")
	w.post("/oauth/v2/token", "", "grant_type", "planted")
	w.post("/oauth/v2/token", "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ops+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, line := range grantLine.FindAllStringSubmatch(string(text), -1) {
		got[line[1]+" "+line[2]] = line[3]
	}
	want := map[string]string{
		"client_credentials ok": "2", "client_credentials invalid_client": "1", bearer + " ok": "1",
		bearer + " invalid_grant": "1", "unknown unsupported_grant_type": "1", "unknown invalid_request": "1",
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
