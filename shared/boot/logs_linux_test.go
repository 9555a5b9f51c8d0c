package boot_test

import (
	"bytes"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"herald/shared/boot"
	"herald/shared/testkit"
)

// A terminal gets lines for people, everything else JSON. A setting has priority over both.
func TestLogsAreForTheirReaders(t *testing.T) {
	t.Parallel()
	const people = `^\d\d:\d\d:\d\d WARN  a mail waits service=text n=1 err="no\\x1b route"\s*\n$`
	const programs = `^\{"time":".*","level":"WARN","msg":"a mail waits","service":"text",.*"n":1,`
	say := func(log *slog.Logger) {
		log.With("service", "text", "trace", "t", "agent", "a").Warn("a mail waits", "n", 1, "err", "no\x1b route")
	}
	for name, c := range map[string]struct {
		format, want string
		terminal     bool
	}{
		"terminal":         {"auto", people, true},
		"file":             {"auto", programs, false},
		"no setting":       {"", programs, false},
		"json on terminal": {"json", programs, true},
		"text in a file":   {"text", people, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []byte
			if c.terminal {
				person, program := testkit.Terminal(t, 80)
				say(telemetry(t, boot.Observe{LogFormat: c.format}, program).Log)
				_ = program.Close()
				got, _ = io.ReadAll(person) // ends with an error, because the program has closed its end
			} else {
				var logs bytes.Buffer
				say(telemetry(t, boot.Observe{LogFormat: c.format}, &logs).Log)
				got = logs.Bytes()
			}
			if !regexp.MustCompile(c.want).Match(got) {
				t.Errorf("%q", got)
			}
		})
	}
	_, err := boot.NewTelemetry(t.Context(), boot.Observe{LogFormat: "xml"}, "test", io.Discard)
	if err == nil || !strings.Contains(err.Error(), `HERALD_LOG_FORMAT: "xml" is none of auto, text and json`) {
		t.Errorf("an unknown format: %v", err)
	}
}
