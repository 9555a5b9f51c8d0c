package boot

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/shared/postgres"
	"herald/shared/rpc"
)

// Observe holds the settings for logs, metrics and traces.
type Observe struct {
	LogLevel  slog.Level `env:"HERALD_LOG_LEVEL" envDefault:"INFO"`
	LogFormat string     `env:"HERALD_LOG_FORMAT" envDefault:"auto"`
	OpsListen string     `env:"HERALD_OPS_LISTEN"`
	Traces    string     `env:"HERALD_OTLP_URL"`
}

// Help implements Documented.
func (Observe) Help() map[string]string {
	return map[string]string{
		"HERALD_LOG_LEVEL":  "DEBUG, INFO, WARN or ERROR",
		"HERALD_LOG_FORMAT": "text for people, json for programs, or auto: text on a terminal, json elsewhere",
		"HERALD_OPS_LISTEN": "address for /metrics, /livez, /readyz and /debug/pprof; empty turns it off",
		"HERALD_OTLP_URL": "OTLP over HTTP endpoint for traces, such as http://localhost:4318; empty turns " +
			"them off",
	}
}

// flushLimit is how long a stopping process waits for a collector of traces.
const flushLimit = 5 * time.Second

// Telemetry holds the log, metrics and traces of a process.
type Telemetry struct {
	Log     *slog.Logger
	Metrics *prometheus.Registry
	Traces  trace.TracerProvider
	// Outages logs outages of databases, once for all services of the process.
	Outages *postgres.Watch
	// Flush sends the traces that are still buffered.
	Flush func(context.Context) error
}

// NewTelemetry returns the telemetry of a process. Logs go to w, one record per line.
func NewTelemetry(ctx context.Context, c Observe, process string, w io.Writer) (Telemetry, error) {
	logs, err := logHandler(c, w)
	if err != nil {
		return Telemetry{}, err
	}
	outages := postgres.NewWatch(slog.New(requestHandler{Handler: logs}), time.Now)
	t := Telemetry{
		Log:     slog.New(requestHandler{logs, outages}),
		Outages: outages,
		Metrics: prometheus.NewRegistry(),
		Traces:  noop.NewTracerProvider(),
		Flush:   func(context.Context) error { return nil },
	}
	t.Metrics.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if c.Traces == "" {
		return t, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(c.Traces, "/")+
		"/v1/traces"))
	if err != nil {
		return Telemetry{}, fmt.Errorf("HERALD_OTLP_URL: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(semconv.ServiceName("herald-"+process))))
	t.Traces, t.Flush = provider, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, flushLimit)
		defer cancel()
		return provider.Shutdown(ctx)
	}
	return t, nil
}

// requestHandler adds the id of the request and the id of its trace to log lines. It drops warnings that are caused
// by an outage of a database, because the outage has its own line in the log.
type requestHandler struct {
	slog.Handler
	outages *postgres.Watch
}

func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level == slog.LevelWarn && h.follows(r) {
		return nil
	}
	if id := rpc.RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request", id))
	}
	if s := trace.SpanContextFromContext(ctx); s.IsValid() {
		r.AddAttrs(slog.String("trace", s.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// follows reports whether the error in a log line comes from a database that does not work.
func (h requestHandler) follows(r slog.Record) bool {
	outage := false
	r.Attrs(func(a slog.Attr) bool {
		err, ok := a.Value.Any().(error)
		outage = outage || ok && h.outages.Explains(err)
		return !outage
	})
	return outage
}

func (h requestHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(a), h.outages}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name), h.outages}
}
