package delivery

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// However often something fails, the log has one line when that begins and one when it ends.
func TestSpell(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	s := spell{begins: "BEGINS", ends: "ENDS"}
	for _, err := range []error{nil, errors.New("first"), errors.New("second"), nil, nil, errors.New("third"), nil} {
		s.note(t.Context(), log, err)
	}
	var lines []string
	for line := range strings.Lines(said.String()) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), "msg=")
		lines = append(lines, text)
	}
	if got := strings.Join(lines, ", "); got != "BEGINS err=first, ENDS, BEGINS err=third, ENDS" {
		t.Errorf("said %s", got)
	}
}
