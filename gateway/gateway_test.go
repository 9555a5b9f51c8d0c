package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"

	"herald/gateway/internal/testworld"
)

// Requests that are running when the gateway stops are still answered.
func TestStopAnswersRunningRequests(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	address, stop, ended := w.Stoppable(t)
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
