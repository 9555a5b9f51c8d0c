package command

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"herald/shared/boot"
)

// bar shows the progress of an import on a terminal. It counts the bytes that were sent, because the answer comes only
// at the end. The server reads a file about as fast as it imports it, so at most a few megabytes of the sent bytes are
// not imported yet.
type bar struct {
	out        io.Writer
	size       int64
	began      time.Time
	sent, rows atomic.Int64
}

// Write implements io.Writer. It counts the bytes.
func (b *bar) Write(p []byte) (int, error) {
	b.sent.Add(int64(len(p)))
	return len(p), nil
}

// start draws the bar repeatedly until the returned function is called.
func (b *bar) start() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			fmt.Fprint(b.out, "\r", b.line(time.Since(b.began), boot.Terminal(b.out)), "\x1b[K")
			select {
			case <-tick.C:
			case <-quit:
				fmt.Fprint(b.out, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(quit); <-ended }
}

const (
	barWidth = 30
	// minBar is the minimum width of the bar. A narrower terminal shows no bar.
	minBar = 8
)

// line returns the bar after some time. It is shorter than a line of the terminal, which would
// otherwise begin a new one.
func (b *bar) line(took time.Duration, columns int) string {
	sent, rows := b.sent.Load(), b.rows.Load()
	share := 1.0
	if b.size > 0 {
		share = min(1, float64(sent)/float64(b.size))
	}
	text := fmt.Sprintf("%3.0f %%  %d sent", 100*share, rows)
	switch {
	case share == 1:
		text += ", waiting"
	case took >= time.Second && sent > 0:
		left := time.Duration(float64(took) * (1 - share) / share)
		text += fmt.Sprintf("  %.0f/s  %s left", float64(rows)/took.Seconds(), left.Round(time.Second))
	}
	if width := min(barWidth, columns-1-len(text)-len("[] ")); width >= minBar {
		full := int(share * float64(width))
		text = fmt.Sprintf("[%s%s] %s", strings.Repeat("=", full), strings.Repeat(" ", width-full), text)
	}
	return text[:min(len(text), max(0, columns-1))]
}
