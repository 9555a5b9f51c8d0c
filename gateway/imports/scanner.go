package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"herald/gateway/transcode"
	"herald/shared/fault"
)

const (
	// maxValue is how many bytes one value may have, such as a user; as many as a whole request
	// of another method.
	maxValue = 1 << 20
	// maxSpace is how many bytes of white space may stand in one place. A compressed body could
	// otherwise keep the gateway busy with nothing.
	maxSpace = 1 << 20
	// maxNames is how many unknown names the objects around the users may have together.
	maxNames = 1000
	// maxName is how many bytes such a name may have.
	maxName = 1 << 10

	chunk = 64 << 10
)

// ErrBrokenOff is the fault of a body that ends before its end.
var ErrBrokenOff = fault.New(fault.Invalid, "IMPORT_BROKEN_OFF", "The body breaks off")

// errTooLarge is returned for a value of more than maxValue bytes, which has been skipped.
var errTooLarge = errors.New("the value is too large")

// scanner reads JSON of any length piece by piece. It keeps at most one value. Of the values
// that it returns it has checked where they end, and nothing else.
type scanner struct {
	from io.Reader
	// rest is what of buf is not read yet.
	buf, rest []byte
	kept      []byte
	at        place
	names     int
}

// place is where a scanner stands, counted from 0.
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

func newScanner(from io.Reader) *scanner { return &scanner{from: from, buf: make([]byte, chunk)} }

// newLine returns a scanner for a text that is there already.
func newLine(text []byte) *scanner { return &scanner{from: bytes.NewReader(nil), rest: text} }

// fill reads more if rest is empty.
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

// broken returns the fault for a body that ended with err before its end.
func (s *scanner) broken(err error) error {
	if f, ok := errors.AsType[*fault.Fault](err); ok {
		return f
	}
	return ErrBrokenOff.Say("The body breaks off at line %d, column %d (byte %d)", s.at.line+1, s.at.column+1,
		s.at.offset).Because(err)
}

func (s *scanner) malformed(reason string) error {
	return transcode.ErrJSON.Say("The body %s at line %d, column %d (byte %d)", reason, s.at.line+1, s.at.column+1,
		s.at.offset)
}

// peek skips white space and returns the byte that follows it.
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

// expect takes one of the bytes c, with the white space before it.
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

// value reads a value, which is there until the next one is read. A value that is too large
// is skipped and errTooLarge returned.
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

// ending looks for the end of a value, in pieces.
type ending struct {
	depth   int
	text    bool // in a string
	escaped bool
	bare    bool // a number or word, which ends before whatever follows
	done    bool
}

// find returns how many bytes of a piece belong to the value.
func (e *ending) find(piece []byte) int {
	for i := 0; i < len(piece); i++ {
		c := piece[i]
		if e.text {
			switch {
			case e.escaped:
				e.escaped = false
			case c == '\\':
				e.escaped = true
			case c == '"':
				e.text = false
				if e.depth == 0 {
					e.done = true
					return i + 1
				}
			}
			continue
		}
		switch c {
		case '"':
			if e.bare {
				e.done = true
				return i
			}
			e.text = true
		case '{', '[':
			if e.bare {
				e.done = true
				return i
			}
			e.depth++
		case '}', ']':
			if e.depth == 0 {
				e.done = true
				return i
			}
			if e.depth--; e.depth == 0 {
				e.done = true
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if e.depth == 0 {
				e.done = true
				return i
			}
		default:
			if e.depth == 0 {
				e.bare = true
			}
		}
	}
	return len(piece)
}

// skip reads a value that nobody needs. It must be JSON all the same.
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

// text reads a string; null is empty.
func (s *scanner) text(path string) (string, error) {
	v, err := s.value(maxName)
	if err != nil && !errors.Is(err, errTooLarge) {
		return "", err
	}
	var text string
	if err != nil || json.Unmarshal(v, &text) != nil {
		return "", fault.ErrInvalid.On(path, "must be a string").Say("%s: must be a string", path)
	}
	return text, nil
}

// open takes the bracket that an object or list begins with; false for null.
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
	return false, fault.ErrInvalid.On(path, kind).Say("%s: %s", path, kind)
}

// members calls known with the name of each member of an object, whose value known reads. It
// returns false for a name that it does not know.
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

// items calls item where each item of a list or object begins, after its opening bracket.
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

// finish accepts white space to the end and nothing else.
func (s *scanner) finish() error {
	switch _, err := s.peek(); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		return s.broken(err)
	}
	return s.malformed("goes on after its end")
}
