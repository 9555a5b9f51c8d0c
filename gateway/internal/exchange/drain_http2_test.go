package exchange_test

import (
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"herald/gateway/internal/testworld"
)

// refusals are answered before the body is read.
var refusals = []struct {
	path, token, media, limit string
	status                    int
}{
	{"/management/v1/users/_search", "", "application/json", "", 401},
	{"/management/v1/users/_search", "owner", "text/plain", "", 415},
	{"/management/v1/nothing", "owner", "application/json", "", 404},
	{testworld.GetUser, "owner", "application/x-nothing", "", 415},
	{testworld.GetUser, "owner", "application/json", "soon", 400},
	{"/livez", "", "application/json", "", 405},
}

// An answer is lost only now and then, so each refusal is tried often. A program that starts for each takes long:
// CONTRIBUTING.md has the command for 500.
var curls = flag.Int("curls", 50, "how often curl is refused in each way")

// An HTTP/2 client that sends a body gets the whole answer of a refusal, and no reset before it. curl reports a reset
// that comes early as an error; the client of Go would not. Each answer has a connection of its own, because curl 7.88
// loses every later one of a connection.
func TestRefusalsReachCurl(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("curl is not installed: `apt-get install curl`")
	}
	w := testworld.Start(t)
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte(strings.Repeat(" ", 200<<10)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range refusals {
		t.Run(c.path+" "+strconv.Itoa(c.status), func(t *testing.T) {
			args := []string{"--http2-prior-knowledge", "-sS", "-o", os.DevNull, "-w", "%{http_code}",
				"-H", "Content-Type: " + c.media, "--data-binary", "@" + body, w.URL + c.path}
			if c.token != "" {
				args = append(args, "-H", "Authorization: Bearer "+w.Owner())
			}
			if c.limit != "" {
				args = append(args, "-H", "Connect-Timeout-Ms: "+c.limit)
			}
			often(*curls, func() {
				said, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
				if err != nil || string(said) != strconv.Itoa(c.status) {
					t.Errorf("%s %v", said, err)
				}
			})
		})
	}
}

// often calls try n times, four at once.
func often(n int, try func()) {
	var running sync.WaitGroup
	lanes := make(chan struct{}, 4)
	for range n {
		lanes <- struct{}{}
		running.Go(func() {
			defer func() { <-lanes }()
			try()
		})
	}
	running.Wait()
}

// What is read of a refused body has a bound for each stream too.
func TestRefusedBodiesAreNotReadForeverOverHTTP2(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	transport := &http.Transport{Protocols: &http.Protocols{}}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	const size = 100 << 20
	body := &endless{closed: make(chan struct{})}
	r, err := http.NewRequestWithContext(t.Context(), "POST", w.URL+"/nothing", body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = size
	got, err := transport.RoundTrip(r)
	if err != nil || got.StatusCode != 404 {
		t.Fatal(got, err)
	}
	defer got.Body.Close()
	<-body.closed
	if sent := body.sent.Load(); sent > 20<<20 {
		t.Errorf("%d bytes were read", sent)
	}
}

// endless is a body that counts how much of it was sent.
type endless struct {
	sent   atomic.Int64
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (e *endless) Read(b []byte) (int, error) {
	e.sent.Add(int64(len(b)))
	return len(b), nil
}

// Close implements io.Closer.
func (e *endless) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}
