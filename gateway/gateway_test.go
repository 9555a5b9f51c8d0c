package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/gateway"
	"herald/gateway/internal/testworld"
)

// Requests that are running when the gateway stops are still answered.
func TestStopAnswersRunningRequests(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	address, stop, ended := w.Stoppable(t, 0)
	var causes map[string]string
	w.FailWith(func(ctx context.Context) error {
		stop()
		for {
			c, err := net.Dial("tcp", address)
			if err != nil { // the port is closed while the first request still runs
				causes = w.Health.Causes(ctx)
				return nil
			}
			c.Close()
		}
	})
	token := w.Owner()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /management/v1/users/u1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", token)
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || got.StatusCode != 200 {
		t.Fatal(got, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if causes["gateway"] != "stopping" {
		t.Errorf("while it stopped it was %v", causes)
	}
}

// A gateway that was told to stop goes on for the delay. Meanwhile it says that it is not ready, and ends each
// connection with its answer, so that no client sends a request on one that is about to be closed.
func TestStopDelay(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	address, stop, ended := w.Stoppable(t, 2*time.Second)
	get := func() *http.Response {
		t.Helper()
		got, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		return got
	}
	if got := get(); got.StatusCode != http.StatusOK || got.Close {
		t.Fatalf("before its stop: %s, ends the connection: %v", got.Status, got.Close)
	}
	stop()
	for get().StatusCode == http.StatusOK { // until the gateway has noticed
	}
	if got := get(); !got.Close {
		t.Errorf("while it leaves the connection stays: %s", got.Status)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/management/v1/users/u1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.Owner())
	got, err := http.DefaultClient.Do(r)
	if err != nil || got.StatusCode != http.StatusOK {
		t.Fatal(got, err)
	}
	_ = got.Body.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		_ = c.Close()
		t.Error("the port is still open")
	}
}

// A delay for which a supervisor would not wait ends the start.
func TestStopDelayIsAtMostAMinute(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	for _, delay := range []time.Duration{-time.Second, time.Minute + time.Second} {
		_, err := gateway.New(t.Context(), w.Ground, gateway.Config{Listen: "127.0.0.1:0", StopDelay: delay})
		if err == nil || !strings.Contains(err.Error(), "HERALD_STOP_DELAY") {
			t.Errorf("%s: %v", delay, err)
		}
	}
}
