package boot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/trace"

	"herald/shared/boot"
	"herald/shared/postgres"
	"herald/shared/rpc"
)

func telemetry(t testing.TB, o boot.Observe, logs io.Writer) boot.Telemetry {
	t.Helper()
	all, err := boot.NewTelemetry(t.Context(), o, "test", logs)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// line returns the only logged line and fails the test when there are more.
func line(t testing.TB, logs *bytes.Buffer) map[string]any {
	t.Helper()
	text := logs.String()
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		t.Fatalf("not one line: %q", text)
	}
	var found map[string]any
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	logs.Reset()
	return found
}

func TestLogsCarryRequestAndTrace(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	log := telemetry(t, boot.Observe{}, &logs).Log
	id := trace.TraceID{1, 2, 3}
	ctx := trace.ContextWithSpanContext(rpc.WithRequestID(t.Context(), "r-1"),
		trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{4}}))
	for name, log := range map[string]*slog.Logger{"plain": log, "with": log.With("service", "users")} {
		log.InfoContext(ctx, "done", "n", 1)
		if got := line(t, &logs); got["request"] != "r-1" || got["trace"] != id.String() || got["msg"] != "done" ||
			got["level"] != "INFO" || got["n"] != 1.0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	log.WithGroup("g").InfoContext(ctx, "grouped")
	if got := line(t, &logs); got["g"].(map[string]any)["request"] != "r-1" {
		t.Errorf("in a group: %v", got)
	}
	log.Info("of no request")
	got := line(t, &logs)
	if _, ok := got["request"]; ok || got["trace"] != nil {
		t.Errorf("%v", got)
	}
}

// Text from a request cannot begin a new log line or send control codes to a terminal.
func TestLogsAreOneLine(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	log := telemetry(t, boot.Observe{}, &logs).Log
	for _, hostile := range []string{
		"a\r\nb", "a\nlevel=ERROR", "\x1b[2J\x1b]0;title\a", "\x00", "\xff\xfe", "\u2028\u2029", `","level":"ERROR`,
		"\b\b\b\x7f", strings.Repeat("x\n", 1<<19),
	} {
		log.InfoContext(rpc.WithRequestID(t.Context(), hostile), hostile, "user agent", hostile, hostile, hostile,
			"err", errors.New(hostile))
		for _, r := range strings.TrimSuffix(logs.String(), "\n") {
			if r < ' ' || r == '\u2028' || r == '\u2029' {
				t.Errorf("%.20q: the line holds %U", hostile, r)
			}
		}
		if got := line(t, &logs); got["level"] != "INFO" {
			t.Errorf("%.20q: %v", hostile, got["level"])
		}
	}
}

// An outage of the database has its own lines in the log, so that errors that follow from it are not logged.
func TestLogsLeaveOutWhatFollows(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	log := telemetry(t, boot.Observe{}, &logs).Log
	away := fmt.Errorf("read outbox: %w", postgres.Fault(&pgconn.PgError{Code: "57P01", Message: "shutdown"}))
	for name, log := range map[string]*slog.Logger{"plain": log, "with": log.With("service", "users")} {
		log.Warn("events wait", "err", away)
		if logs.Len() > 0 {
			t.Errorf("%s: %s", name, logs.String())
			logs.Reset()
		}
		log.Warn("events wait", "err", errors.New("something else"))
		if got := line(t, &logs); got["err"] != "something else" {
			t.Errorf("%s: %v", name, got)
		}
		log.Error("a mail is not recorded", "err", away)
		if got := line(t, &logs); got["msg"] != "a mail is not recorded" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLogLevel(t *testing.T) {
	t.Parallel()
	var logs bytes.Buffer
	log := telemetry(t, boot.Observe{LogLevel: slog.LevelWarn}, &logs).Log
	log.Info("less")
	log.With("a", 1).WithGroup("g").Info("less")
	log.Warn("enough")
	if got := line(t, &logs); got["msg"] != "enough" {
		t.Errorf("%v", got)
	}
}

// Traces reach the collector when they are flushed, or before.
func TestTraces(t *testing.T) {
	t.Parallel()
	bodies := make(chan string, 8)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.URL.Path + " " + string(body)
	}))
	t.Cleanup(collector.Close)
	all := telemetry(t, boot.Observe{Traces: collector.URL + "/"}, io.Discard)
	_, span := all.Traces.Tracer("t").Start(t.Context(), "the span")
	span.End()
	if err := all.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case body := <-bodies:
		if !strings.HasPrefix(body, "/v1/traces ") || !strings.Contains(body, "the span") ||
			!strings.Contains(body, "herald-test") {
			t.Errorf("%q", body)
		}
	default:
		t.Error("nothing was sent")
	}
	none := telemetry(t, boot.Observe{}, io.Discard)
	if _, span := none.Traces.Tracer("t").Start(t.Context(), "s"); span.IsRecording() ||
		none.Flush(t.Context()) != nil {
		t.Error("traces are not off")
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	found, err := telemetry(t, boot.Observe{}, io.Discard).Metrics.Gather()
	names := map[string]bool{}
	for _, f := range found {
		names[f.GetName()] = true
	}
	if err != nil || !names["go_goroutines"] || !names["process_open_fds"] {
		t.Errorf("%v %v", err, names)
	}
}

// After the end of the context a running request finishes, and no new one is accepted.
func TestServeHTTPFinishes(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	entered, release := make(chan struct{}), make(chan struct{})
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			close(entered)
			<-release
			io.WriteString(w, "done")
		})}
	stopping := make(chan struct{})
	s.RegisterOnShutdown(func() { close(stopping) })
	ctx, stop := context.WithCancel(t.Context())
	served, answered := make(chan error, 1), make(chan string, 1)
	go func() { served <- boot.ServeHTTP(ctx, l, s) }()
	go func() {
		r, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			answered <- err.Error()
			return
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		answered <- string(body)
	}()
	<-entered
	stop()
	select {
	case <-stopping:
	case err := <-served:
		t.Fatalf("ended before its request: %v", err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("still takes connections")
	}
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("a client can keep a connection without limit: %+v", s)
	}
	close(release)
	if err, body := <-served, <-answered; err != nil || body != "done" {
		t.Errorf("%v, %q", err, body)
	}
}

func TestServeHTTPFails(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if err := boot.ServeHTTP(t.Context(), l, &http.Server{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestServeOps(t *testing.T) {
	t.Parallel()
	g := boot.Ground{Telemetry: telemetry(t, boot.Observe{}, io.Discard), Health: boot.NewHealth()}
	stop, err := boot.ServeOps(boot.Observe{}, g)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := boot.ServeOps(boot.Observe{OpsListen: taken.Addr().String()}, g); err == nil ||
		!strings.HasPrefix(err.Error(), "HERALD_OPS_LISTEN: ") {
		t.Errorf("a taken address: %v", err)
	}
	taken.Close()
	if stop, err = boot.ServeOps(boot.Observe{OpsListen: taken.Addr().String()}, g); err != nil {
		t.Fatal(err)
	}
	defer stop()
	r, err := http.Get("http://" + taken.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusOK {
		t.Errorf("%d", r.StatusCode)
	}
}
