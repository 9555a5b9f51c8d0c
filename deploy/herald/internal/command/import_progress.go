package command

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// bar shows on a terminal how far an import is. What was sent counts as imported: a file is
// taken as fast as it is imported.
type bar struct {
	out        io.Writer
	size       int64
	began      time.Time
	sent, rows atomic.Int64
}

// Write implements io.Writer: it counts.
func (b *bar) Write(p []byte) (int, error) {
	b.sent.Add(int64(len(p)))
	return len(p), nil
}

// start draws the bar again and again until the returned function is called.
func (b *bar) start() (stop func()) {
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			fmt.Fprint(b.out, "\r", b.line(time.Since(b.began)), "\x1b[K")
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

const barWidth = 30

// line is the bar after some time.
func (b *bar) line(took time.Duration) string {
	sent, rows := b.sent.Load(), b.rows.Load()
	share := 1.0
	if b.size > 0 {
		share = min(1, float64(sent)/float64(b.size))
	}
	full := int(share * barWidth)
	text := fmt.Sprintf("[%s%s] %3.0f %%  %d users", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full),
		100*share, rows)
	if took < time.Second || sent == 0 {
		return text
	}
	left := time.Duration(float64(took) * (1 - share) / share)
	return fmt.Sprintf("%s  %.0f/s  %s left", text, float64(rows)/took.Seconds(), left.Round(time.Second))
}
