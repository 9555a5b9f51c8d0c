package main_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"herald/deploy/herald/test/whole"
)

// One trace has spans of the gateway, NATS, the service and its SQL. It continues the caller's trace
// and has no personal value.
func TestTraces(t *testing.T) {
	t.Parallel()
	names := make(chan string, 1000)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(body, &request) != nil {
			t.Errorf("%s: %v", r.URL, err)
			return
		}
		if strings.Contains(string(body), "canary") {
			t.Error("a trace holds a personal value")
		}
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					if hex.EncodeToString(span.TraceId) == trace {
						names <- span.Name
					}
				}
			}
		}
	}))
	t.Cleanup(sink.Close)
	i := whole.Start(t, "HERALD_OTLP_URL="+sink.URL)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, i.URL+"/management/v1/users/human/_import",
		strings.NewReader(strings.ReplaceAll(whole.Person("u1"), "Mini", "canary")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+i.Token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("traceparent", "00-"+trace+"-b7ad6b7169203331-01")
	w, err := http.DefaultClient.Do(r)
	if err != nil || w.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", w, err)
	}
	defer w.Body.Close()
	if err := i.Stop(syscall.SIGTERM); err != nil { // flushes the traces
		t.Fatal(err)
	}
	close(names)
	var all []string
	for name := range names {
		all = append(all, name)
	}
	said := strings.Join(all, "\n")
	for _, part := range []string{
		"POST /management/v1/users/human/_import", "/herald.users.v1.Imports/ImportHumanUser", "WITH",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("no span %q among\n%s", part, said)
		}
	}
}
