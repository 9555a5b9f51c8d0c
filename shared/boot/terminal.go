package boot

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// usualColumns is the width of a terminal that does not know its own.
const usualColumns = 80

// Terminal returns the width of the terminal that w writes to, or 0 if w writes to something else.
func Terminal(w io.Writer) (columns int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col == 0:
		return usualColumns
	}
	return int(size.Col)
}
