package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
)

const (
	// maxValue is the maximum size of a value, such as a user, in bytes. It is the same as that of
	// a request of other methods.
	maxValue = 1 << 20
	// maxSpace is the maximum number of bytes of white space in one place. Without it a small compressed body could
	// keep the gateway busy for a long time.
	maxSpace = 1 << 20
	// maxNames is the maximum number of unknown names in all objects around the users.
	maxNames = 1000
	// maxName is the maximum size of such a name in bytes.
	maxName = 1 << 10

	chunk = 64 << 10
)

// errTooLarge is returned for a value that is too large and was skipped.
var errTooLarge = errors.New("the value is too large")

// scanner reads JSON of any length in pieces. It has at most one value in memory. It does not check
// that a value that it returns is valid JSON.
type scanner struct {
	from io.Reader
	// rest is the part of buf that was not read yet.
	buf, rest []byte
	kept      []byte
	at        place
	names     int
}

// place is the position of a scanner, counted from 0.
type place struct{ line, column, offset int64 }

func (p *place) move(read []byte) {
	p.offset += int64(len(read))
	if n := bytes.Count(read, []byte{'\n'}); n > 0 {
		p.line += int64(n)
		p.column = int64(len(read) - 1 - bytes.LastIndexByte(read, '\n'))
		return
	}
	p.column += int64(len(read))
}

func newScanner(from io.Reader) *scanner {
	text, mark := Unmarked(from)
	return &scanner{from: text, buf: make([]byte, chunk), at: place{offset: mark}}
}

// Unmarked returns a reader of a text in UTF-8 without the byte order mark that programs for Windows write before it,
// and the number of bytes of the mark.
func Unmarked(from io.Reader) (text io.Reader, mark int64) {
	const bom = "\xef\xbb\xbf"
	head := make([]byte, len(bom))
	n, _ := io.ReadFull(from, head) // the next read has the same error
	if string(head[:n]) == bom {
		return from, int64(n)
	}
	return io.MultiReader(bytes.NewReader(head[:n]), from), 0
}

// newLine returns a scanner for a text.
func newLine(text []byte) *scanner { return &scanner{from: bytes.NewReader(nil), rest: text} }

// fill reads the next piece if rest is empty.
func (s *scanner) fill() error {
	for tries := 0; len(s.rest) == 0; tries++ {
		if s.buf == nil || tries > 100 {
			return io.EOF
		}
		n, err := s.from.Read(s.buf)
		s.rest = s.buf[:n]
		if err != nil && n == 0 {
			return err
		}
	}
	return nil
}

func (s *scanner) take(n int) []byte {
	read := s.rest[:n]
	s.rest = s.rest[n:]
	s.at.move(read)
	return read
}

// broken returns the fault for a body whose reading failed with err.
func (s *scanner) broken(err error) error {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	return gatewayfault.ErrImportBrokenOff.Say("The body breaks off at line %d, column %d (byte %d)", s.at.line+1,
		s.at.column+1,
		s.at.offset).Because(err)
}

func (s *scanner) malformed(reason string) error {
	return gatewayfault.ErrJSONMalformed.Say("The body %s at line %d, column %d (byte %d)", reason, s.at.line+1,
		s.at.column+1,
		s.at.offset)
}

// peek skips white space and returns the next byte without reading it.
func (s *scanner) peek() (byte, error) {
	for skipped := 0; ; {
		if err := s.fill(); err != nil {
			return 0, err
		}
		after := bytes.TrimLeft(s.rest, " \t\r\n")
		skipped += len(s.take(len(s.rest) - len(after)))
		switch {
		case len(after) > 0:
			return after[0], nil
		case skipped > maxSpace:
			return 0, s.malformed("has too much white space")
		}
	}
}

// expect skips white space and reads one of the bytes c.
func (s *scanner) expect(c string) (byte, error) {
	got, err := s.peek()
	switch {
	case err != nil:
		return 0, s.broken(err)
	case bytes.IndexByte([]byte(c), got) < 0:
		return 0, s.malformed("is not JSON")
	}
	s.take(1)
	return got, nil
}

// value reads a value, which is valid until the next one is read. It skips a value that is too
// large and returns errTooLarge.
func (s *scanner) value(limit int) ([]byte, error) {
	if _, err := s.peek(); err != nil {
		return nil, s.broken(err)
	}
	var e ending
	s.kept = s.kept[:0]
	size := 0
	for !e.done {
		err := s.fill()
		if errors.Is(err, io.EOF) && e.bare {
			break
		}
		if err != nil {
			return nil, s.broken(err)
		}
		n := e.find(s.rest)
		if n == 0 && size == 0 {
			return nil, s.malformed("is not JSON")
		}
		part := s.take(n)
		if size += n; size <= limit {
			s.kept = append(s.kept, part...)
		}
	}
	if size > limit {
		return nil, errTooLarge
	}
	return s.kept, nil
}

// ending finds the end of a value that comes in pieces.
type ending struct {
	depth   int
	text    bool // in a string
	escaped bool
	bare    bool // a number, true, false or null, which have no closing character
	done    bool
}

// find returns the number of bytes of a piece that belong to the value.
func (e *ending) find(piece []byte) int {
	for i, c := range piece {
		if e.text {
			e.inText(c)
		} else if e.before(c) {
			e.done = true
			return i
		}
		if e.done {
			return i + 1
		}
	}
	return len(piece)
}

// inText reads a byte of a string.
func (e *ending) inText(c byte) {
	switch {
	case e.escaped:
		e.escaped = false
	case c == '\\':
		e.escaped = true
	case c == '"':
		e.text, e.done = false, e.depth == 0
	}
}

// before reads a byte outside of strings. It reports whether the value ended before it.
func (e *ending) before(c byte) bool {
	switch c {
	case '"':
		e.text = !e.bare
		return e.bare
	case '{', '[':
		if !e.bare {
			e.depth++
		}
		return e.bare
	case '}', ']':
		if e.depth == 0 {
			return true
		}
		e.depth--
		e.done = e.depth == 0
	case ',', ':', ' ', '\t', '\r', '\n':
		return e.depth == 0
	default:
		e.bare = e.bare || e.depth == 0
	}
	return false
}

// skip reads a value that is not used. It returns a fault if the value is not JSON.
func (s *scanner) skip() error {
	v, err := s.value(maxValue)
	switch {
	case errors.Is(err, errTooLarge):
		return s.malformed("has a value of more than 1 MiB that is no user")
	case err != nil:
		return err
	case !json.Valid(v):
		return s.malformed("is not JSON")
	}
	return nil
}

// text reads a string. null counts as an empty one.
func (s *scanner) text(path string) (string, error) {
	v, err := s.value(maxName)
	if err != nil && !errors.Is(err, errTooLarge) {
		return "", err
	}
	var text string
	if err != nil || json.Unmarshal(v, &text) != nil {
		return "", fault.ErrInvalidArgument.On(path, "must be a string").Say("%s: must be a string", path)
	}
	return text, nil
}

// open reads the bracket at the beginning of an object or list. It returns false for null.
func (s *scanner) open(bracket byte, path string) (bool, error) {
	c, err := s.peek()
	if err != nil {
		return false, s.broken(err)
	}
	switch c {
	case bracket:
		s.take(1)
		return true, nil
	case 'n':
		return false, s.skip()
	}
	kind := map[byte]string{'{': "must be an object", '[': "must be a list"}[bracket]
	if path == "" {
		return false, s.malformed(kind)
	}
	return false, fault.ErrInvalidArgument.On(path, kind).Say("%s: %s", path, kind)
}

// members calls known with the name of each member of an object. known reads the value, or returns
// false for an unknown name, whose value is skipped.
func (s *scanner) members(path string, known func(name string) (bool, error)) error {
	there, err := s.open('{', path)
	if err != nil || !there {
		return err
	}
	seen := map[string]bool{}
	return s.items('}', func() error {
		raw, err := s.value(maxName)
		var name string
		if errors.Is(err, errTooLarge) || err == nil && json.Unmarshal(raw, &name) != nil {
			return s.malformed("is not JSON")
		}
		if err != nil {
			return err
		}
		if _, err := s.expect(":"); err != nil {
			return err
		}
		name = camel(name)
		if seen[name] {
			return s.malformed("has a name twice")
		}
		if s.names++; s.names <= maxNames {
			seen[name] = true
		}
		found, err := known(name)
		if found {
			s.names--
		}
		if err != nil || found {
			return err
		}
		if s.names > maxNames {
			return s.malformed("has too many unknown names")
		}
		return s.skip()
	})
}

// items calls item at the beginning of each item of a list or object, whose opening bracket was
// read.
func (s *scanner) items(end byte, item func() error) error {
	c, err := s.peek()
	if err != nil {
		return s.broken(err)
	}
	if c == end {
		s.take(1)
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		c, err := s.expect("," + string(end))
		if err != nil {
			return err
		}
		if c == end {
			return nil
		}
	}
}

// finish returns a fault if anything but white space follows.
func (s *scanner) finish() error {
	switch _, err := s.peek(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return s.broken(err)
	}
	return s.malformed("goes on after its end")
}
