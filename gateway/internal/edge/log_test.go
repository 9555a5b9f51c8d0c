package edge

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/gateway/internal/connect"
	"herald/gateway/internal/exchange"
	"herald/shared/fault"
	"herald/shared/rpc"
)

// After a panic the answer is an error body if nothing was sent yet; otherwise the connection is
// closed. The panic's text is only in the log.
func TestPanicIsAnErrorBodyOrEndsTheConnection(t *testing.T) {
	t.Parallel()
	for _, begun := range []bool{false, true} {
		var log bytes.Buffer
		e := &Edge{log: slog.New(slog.NewJSONHandler(&log, nil)), tracer: noop.NewTracerProvider().Tracer(""),
			seconds: rpc.Seconds(prometheus.NewRegistry(), "test", "test", "route", "status")}
		e.find = to(exchange.Route{Form: connect.WriteFault, Serve: func(x *exchange.Exchange, _ *http.Request) {
			if begun {
				x.WriteHeader(http.StatusOK)
			}
			panic("canary")
		}})
		w := httptest.NewRecorder()
		broken := func() (broken bool) {
			defer func() { broken = recover() == http.ErrAbortHandler }()
			e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/x", nil))
			return false
		}()
		if broken != begun || (w.Code == http.StatusInternalServerError) == begun {
			t.Errorf("begun %v: broken %v, status %d", begun, broken, w.Code)
		}
		if strings.Contains(w.Body.String(), "canary") || !strings.Contains(log.String(), "canary") ||
			!strings.Contains(log.String(), "log_test.go") {
			t.Errorf("answer %s, log %s", w.Body, &log)
		}
	}
}

// to returns a function that finds the same route for all requests.
func to(route exchange.Route) func(*http.Request) *exchange.Route {
	return func(*http.Request) *exchange.Route { return &route }
}

// The handler has logged why it breaks its answer off, so the line is no error.
func TestAnswerThatAHandlerBreaksOffIsNoError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	e := &Edge{log: slog.New(slog.NewJSONHandler(&log, nil)), tracer: noop.NewTracerProvider().Tracer(""),
		seconds: rpc.Seconds(prometheus.NewRegistry(), "test", "test", "route", "status")}
	e.find = to(exchange.Route{Form: connect.WriteFault, Serve: func(*exchange.Exchange, *http.Request) {
		panic(http.ErrAbortHandler)
	}})
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the connection stays open: %v", p)
			}
		}()
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", "/x", nil))
	}()
	if text := log.String(); !strings.Contains(text, `"level":"INFO"`) || strings.Contains(text, "goroutine") {
		t.Errorf("log %s", text)
	}
}

// An error can quote as much of a request or of an answer as a stranger has sent. The log has little of it.
func TestLogHasLittleOfACause(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New(strings.Repeat("7", 10_000)),
		fault.ErrUnavailable.Because(errors.New(strings.Repeat("7", 10_000)))} {
		var log bytes.Buffer
		e := &Edge{log: slog.New(slog.NewJSONHandler(&log, nil)), tracer: noop.NewTracerProvider().Tracer(""),
			seconds: rpc.Seconds(prometheus.NewRegistry(), "test", "test", "route", "status")}
		e.find = to(exchange.Route{Form: connect.WriteFault, Serve: func(x *exchange.Exchange, r *http.Request) {
			x.Fail(r, err)
		}})
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "POST", "/x", nil))
		if n := strings.Count(log.String(), "7"); n < 150 || n > 250 {
			t.Errorf("%d bytes of the cause in %.300s", n, &log)
		}
	}
}
