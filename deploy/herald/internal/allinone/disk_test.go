package allinone

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// The log and readiness say that changes are refused only if the database server refuses them, and the log says why it
// does not.
func TestFullDiskIsWordedByWhatHappened(t *testing.T) {
	t.Parallel()
	const refused = "changes are refused"
	for name, c := range map[string]struct {
		refuse      func(context.Context, bool) error
		says        string
		readinessIs string
	}{
		"a local server": {
			func(context.Context, bool) error { return nil }, refused, "changes are refused: the disk of /data has",
		},
		"a server elsewhere": {nil, "the disk is almost full", "the disk of /data has"},
		"a server that is away": {
			func(context.Context, bool) error { return errors.New("it is away") },
			"it is away", "the disk of /data has",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			d := disk{dir: "/data", log: slog.New(slog.NewTextHandler(&said, nil))}
			looked := d.watcher(c.refuse)
			looked(t.Context(), enough)
			if err := d.err(t.Context()); err != nil || said.Len() > 0 {
				t.Errorf("while there is room: %v, %s", err, said.String())
			}
			looked(t.Context(), least-1)
			looked(t.Context(), enough-1)
			if err := d.err(t.Context()); err == nil || !strings.HasPrefix(err.Error(), c.readinessIs) {
				t.Errorf("readiness is %v", err)
			}
			if strings.Count(said.String(), "\n") != 1 || !strings.Contains(said.String(), c.says) ||
				c.says != refused && strings.Contains(said.String(), refused) {
				t.Errorf("the log says %s", said.String())
			}
			looked(t.Context(), enough)
			if err := d.err(t.Context()); err != nil {
				t.Errorf("with room again: %v", err)
			}
		})
	}
}
