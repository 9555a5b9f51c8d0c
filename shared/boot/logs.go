package boot

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// logHandler returns the handler that writes logs to w in the format of the settings.
func logHandler(c Observe, w io.Writer) (slog.Handler, error) {
	format := cmp.Or(c.LogFormat, "auto")
	if format == "auto" {
		format = "json"
		if Terminal(w) > 0 {
			format = "text"
		}
	}
	switch format {
	case "json":
		return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: c.LogLevel}), nil
	case "text":
		return newTextHandler(c.LogLevel, w), nil
	}
	return nil, fmt.Errorf("HERALD_LOG_FORMAT: %q is none of auto, text and json", c.LogFormat)
}

// textHandler writes records for people, such as
//
//	09:00:35 WARN  no mail can be sent; trying again service=notification
//
// It leaves out what only programs follow from line to line.
type textHandler struct {
	// Handler writes the attributes to out.rest.
	slog.Handler
	out *textOut
}

type textOut struct {
	mu   sync.Mutex
	rest bytes.Buffer
	w    io.Writer
}

func newTextHandler(level slog.Level, w io.Writer) textHandler {
	out := &textOut{w: w}
	return textHandler{slog.NewTextHandler(&out.rest, &slog.HandlerOptions{Level: level, ReplaceAttr: briefly}), out}
}

// briefly drops what Handle writes itself, and what is of no use on a terminal.
func briefly(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey, slog.LevelKey, slog.MessageKey, "trace", "agent":
		return slog.Attr{}
	}
	return a
}

func (h textHandler) Handle(ctx context.Context, r slog.Record) error {
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	h.out.rest.Reset()
	if err := h.Handler.Handle(ctx, r); err != nil {
		return err
	}
	_, err := fmt.Fprintf(h.out.w, "%s %-5s %s %s", r.Time.Format(time.TimeOnly), r.Level, r.Message,
		h.out.rest.String())
	return err
}

func (h textHandler) WithAttrs(a []slog.Attr) slog.Handler {
	return textHandler{h.Handler.WithAttrs(a), h.out}
}

func (h textHandler) WithGroup(name string) slog.Handler {
	return textHandler{h.Handler.WithGroup(name), h.out}
}
