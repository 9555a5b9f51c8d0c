package edge

import (
	"bytes"
	"errors"
	"strconv"
)

// errTwoLengths ends a connection whose client says in two ways where a body ends (RFC 9112, section 6.1), or in a way
// that framing cannot follow. net/http ignores the Content-Length. A proxy that ignores the other one would take a part
// of the body for the next request, which may be of somebody else.
var errTwoLengths = errors.New("it is not clear where a request ends")

// framing follows the requests of an HTTP/1 connection, to see each head before net/http does. It must read each length
// as net/http does, or fail: if it lost its place, it would see none of the later heads.
type framing struct {
	step step
	// begun is how many bytes of the preface of HTTP/2 the connection began with.
	begun int
	// skip is how many bytes of a body come before the next line.
	skip int64
	// line is the beginning of a line that has not ended, end its last bytes. cut says that line lacks some of it.
	line, end []byte
	cut       bool
	// length is the Content-Length of the head, sized and chunked say which headers it has, and current whether it is
	// of HTTP/1.1.
	length                  int64
	sized, chunked, current bool
	failed                  bool
}

// step is what the next line is.
type step int

const (
	requestLine step = iota
	header
	chunkSize
	chunkEnd
	trailer
	// unknown is the rest of a connection that is HTTP/2, which has frames (RFC 9113, section 3.4).
	unknown
)

var (
	preface          = []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	version1, http2  = []byte(" HTTP/1.1"), []byte(" HTTP/2.0")
	contentLength    = []byte("Content-Length")
	transferEncoding = []byte("Transfer-Encoding")
)

// maxLine is how much of a line framing keeps, and maxEnd how much of its end with the line feed: the names, lengths
// and versions that it looks for are shorter.
const maxLine, maxEnd = 64, 10

// scan takes the next bytes of the connection. It returns how many of them may be passed on, which is less than all if
// framing fails.
func (f *framing) scan(b []byte) (int, error) {
	if f.greet(b); f.failed {
		return 0, errTwoLengths
	}
	for at := 0; at < len(b) && f.step != unknown; {
		if f.skip > 0 {
			n := min(f.skip, int64(len(b)-at))
			f.skip -= n
			at += int(n)
			continue
		}
		end := bytes.IndexByte(b[at:], '\n')
		part := b[at:]
		if end >= 0 {
			part = part[:end]
		}
		f.keep(part)
		if end < 0 {
			break
		}
		f.endLine(bytes.TrimSuffix(f.line, []byte("\r")))
		f.line, f.end, f.cut = f.line[:0], f.end[:0], false
		if f.failed {
			return at, errTwoLengths
		}
		at += end + 1
	}
	return len(b), nil
}

// greet compares the first bytes of the connection with the preface of HTTP/2.
func (f *framing) greet(b []byte) {
	n := min(len(b), len(preface)-f.begun)
	if f.begun < 0 || n == 0 {
		return
	}
	if !bytes.Equal(b[:n], preface[f.begun:][:n]) {
		f.failed, f.begun = f.begun > bytes.IndexByte(preface, '\n'), -1
		return
	}
	if f.begun += n; f.begun == len(preface) {
		f.step = unknown
	}
}

// keep adds a part of a line.
func (f *framing) keep(part []byte) {
	kept := part[:min(len(part), maxLine-len(f.line))]
	f.line, f.cut = append(f.line, kept...), f.cut || len(kept) < len(part)
	f.end = append(f.end, part[max(len(part)-maxEnd, 0):]...)
	f.end = append(f.end[:0], f.end[max(len(f.end)-maxEnd, 0):]...)
}

func (f *framing) endLine(line []byte) {
	switch f.step {
	case requestLine:
		end := bytes.TrimSuffix(f.end, []byte("\r"))
		f.length, f.sized, f.chunked, f.current = 0, false, false, bytes.HasSuffix(end, version1)
		// net/http would take an incomplete or later preface for a request.
		f.failed = bytes.HasSuffix(end, http2) && f.begun < 0
		if len(line) > 0 {
			f.step = header
		}
	case header:
		f.header(line)
	case chunkSize:
		f.chunk(line)
	case chunkEnd:
		f.step = chunkSize
	case trailer:
		if len(line) == 0 {
			f.step = requestLine
		}
	}
}

// header takes a line of a head. The empty one ends it.
func (f *framing) header(line []byte) {
	spaced, value, _ := bytes.Cut(line, []byte(":"))
	name := bytes.TrimRight(spaced, " \t") // other servers may accept the space (RFC 9112, section 5.1)
	failed := f.cut || len(name) < len(spaced)
	switch {
	case bytes.EqualFold(name, contentLength):
		f.sized, f.length, f.failed = true, number(value, 10), failed
	case bytes.EqualFold(name, transferEncoding):
		f.chunked, f.failed = true, failed
	case len(line) > 0:
	// net/http ignores Transfer-Encoding in HTTP/1.0.
	case f.chunked && (f.sized || !f.current), f.length < 0:
		f.failed = true
	case f.chunked:
		f.step = chunkSize
	default:
		f.step, f.skip = requestLine, f.length
	}
}

// chunk takes the line before a chunk (RFC 9112, section 7.1).
func (f *framing) chunk(line []byte) {
	size, _, extended := bytes.Cut(line, []byte(";"))
	switch n := number(size, 16); {
	case n < 0, f.cut && !extended:
		f.failed = true
	case n == 0:
		f.step = trailer
	default:
		f.step, f.skip = chunkEnd, n
	}
}

// number returns -1 for what is no length.
func number(text []byte, base int) int64 {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), base, 64)
	if err != nil {
		return -1
	}
	return n
}
