package command

import (
	"strings"
	"testing"
	"time"
)

// The bar shows as much as fits on one line of the terminal.
func TestBarFitsTheTerminal(t *testing.T) {
	t.Parallel()
	half := func(took time.Duration, columns int) string {
		b := &bar{size: 2_000_000}
		b.sent.Store(500_000)
		b.rows.Store(12_500)
		return b.line(took, columns)
	}
	ended := &bar{size: 10}
	ended.sent.Store(10)
	ended.rows.Store(3)
	for name, c := range map[string]struct{ got, want string }{
		"80 columns": {half(5*time.Second, 80),
			"[=======                       ]  25 %  12500 sent  2500/s  15s left"},
		"60 columns": {half(5*time.Second, 60),
			"[=====                ]  25 %  12500 sent  2500/s  15s left"},
		"40 columns": {half(5*time.Second, 40), " 25 %  12500 sent  2500/s  15s left"},
		"20 columns": {half(5*time.Second, 20), " 25 %  12500 sent  "},
		"no columns": {half(5*time.Second, 0), ""},
		"first second": {
			half(time.Millisecond, 80), "[=======                       ]  25 %  12500 sent",
		},
		"all sent": {
			ended.line(time.Minute, 80), "[" + strings.Repeat("=", 30) + "] 100 %  3 sent, waiting",
		},
		"empty file": {(&bar{}).line(0, 30), "100 %  0 sent, waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%q, want %q", c.got, c.want)
			}
		})
	}
	for columns := range 100 {
		if got := half(time.Hour, columns); len(got) > max(0, columns-1) {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
}
