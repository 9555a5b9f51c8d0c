package command_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	answering := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return strings.TrimPrefix(s.URL, "http://")
	}
	frozen, err := net.Listen("tcp", "127.0.0.1:0") // the kernel connects, and nobody answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { frozen.Close() })
	gone := httptest.NewServer(nil)
	cases := map[string]struct{ address, says string }{
		"ready": {answering(200, `{"status":"ok"}`), ""},
		"not ready": {answering(503, `{"status":{"users database":"no\n\tanswer","start":"starting"}}`),
			"not ready: start: starting; users database: no answer"},
		"another program":            {answering(200, "<p>hello"), "another program has the port of HERALD_OPS_LISTEN"},
		"another program's refusal":  {answering(503, "busy"), "answers 503 Service Unavailable, not as Herald does"},
		"another program's language": {answering(404, `{"status":"ok"}`), "another program"},
		"frozen":                     {frozen.Addr().String(), "does not answer within 2.5s: it is frozen"},
		"not running":                {strings.TrimPrefix(gone.URL, "http://"), "nothing listens at 127.0.0.1:"},
		"no address":                 {"", "HERALD_OPS_LISTEN is not set"},
	}
	gone.Close() // after the others have their ports
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HERALD_OPS_LISTEN", c.address)
			_, err := execute(t, "", "health")
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Error(err)
			}
		})
	}
}
