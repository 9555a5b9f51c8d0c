package edge

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRequestWithTwoLengthsIsRefused(t *testing.T) {
	t.Parallel()
	const sized, chunked = "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"
	post := func(headers string) string { return "POST /x HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" }
	old := func(headers string) string { return strings.Replace(post(headers), "/1.1", "/1.0", 1) }
	long := func(text string) string { return strings.Repeat(text, 80) }
	const chunks = "3;a=b\r\nabc\r\nB\r\n\r\n\r\nPOST / H\r\n0\r\nT: x\r\n\r\n"
	for _, c := range []struct {
		name, sent string
		refused    bool
	}{
		{"none", post(""), false},
		{"a length", post(sized) + "12345", false},
		{"chunks", post(chunked) + chunks, false},
		{"both", post(sized+chunked) + chunks, true},
		{"in the other order", post(chunked+sized) + chunks, true},
		{"in lower case", post(strings.ToLower(chunked+sized)) + chunks, true},
		{"with bare line feeds", strings.ReplaceAll(post(chunked+sized), "\r", ""), true},
		{"a length in the next line", post(chunked+"Content-Length:\r\n 5\r\n") + chunks, true},
		{"a long header between", post(chunked + "X: " + strings.Repeat("x", 5000) + "\r\n" + sized), true},
		{"after a length", post(sized) + "12345" + post(sized+chunked), true},
		{"after chunks", post(chunked) + chunks + post(sized+chunked), true},
		{"in a body", post("Content-Length: 76\r\n") + post(sized+chunked), false},
		{"in a chunk", post(chunked) + "4c\r\n" + post(sized+chunked) + "\r\n0\r\n\r\n", false},
		{"in HTTP/1.0", old(chunked) + chunks, true},
		{"in HTTP/1.0, after a length", old(sized) + "12345" + old(chunked), true},
		{"in HTTP/1.0 after a long path", strings.Replace(old(chunked), "/x", "/"+long("x"), 1) + chunks, true},
		{"chunks after a long path", strings.Replace(post(chunked), "/x", "/"+long("x"), 1) + chunks, false},
		{"a length after many spaces", post("Content-Length:"+long(" ")+"0\r\n") + post(sized+chunked), true},
		{"a length after many zeros", post("Content-Length: "+long("0")+"5\r\n") + "12345", true},
		{"a space before the colon", post("Content-Length : 5\r\n") + "12345", true},
		{"a tab before the colon", post("Transfer-Encoding\t: chunked\r\n") + chunks, true},
		{"no length", post("Content-Length: five\r\n"), true},
		{"an encoding after many spaces", post("Transfer-Encoding:"+long(" ")+"chunked\r\n") + chunks, true},
		{"a long size of a chunk", post(chunked) + long("0") + "3\r\nabc\r\n0\r\n\r\n", true},
		{"a long note at a chunk", post(chunked) + "3;a=" + long("b") + "\r\nabc\r\n0\r\n\r\n", false},
		{"no size of a chunk", post(chunked) + "x\r\n", true},
		{"a length in a folded header", post("X: a\r\n Content-Length: 5\r\n") + post(sized+chunked), true},
		{"both, one folded away", post("X: a\r\n Content-Length: 5\r\n"+chunked) + chunks, false},
		{"both in a trailer", post(chunked) + "0\r\n" + sized + chunked + "\r\n" + post(""), false},
		{"after a trailer", post(chunked) + "0\r\nT: x\n\n" + post(sized+chunked), true},
		{"an incomplete preface", "PRI * HTTP/2.0\r\n\r\nSX\r\n\r\n", true},
		{"the preface after a request", post("") + string(preface), true},
		{"a method like the preface", "PRI /x HTTP/1.1\r\nHost: x\r\n" + sized + chunked + "\r\n" + chunks, true},
		{"after HTTP/2 began", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + post(sized+chunked), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, from := range []io.Reader{
				strings.NewReader(c.sent), iotest.OneByteReader(strings.NewReader(c.sent)),
			} {
				if _, err := io.ReadAll(&scanned{from: from}); errors.Is(err, errTwoLengths) != c.refused {
					t.Errorf("%T: %v", from, err)
				}
			}
		})
	}
}

// scanned reads what framing passes on.
type scanned struct {
	from    io.Reader
	framing framing
}

// Read implements io.Reader.
func (s *scanned) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	if n, refused := s.framing.scan(b[:n]); refused != nil {
		return n, refused
	}
	return n, err
}

// Whatever net/http reads as requests with both headers, or with one that it ignores, is refused before. Framing knows
// the end of each request before.
func FuzzTwoLengths(f *testing.F) {
	f.Add([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n0\n\n"))
	f.Add([]byte("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\nX: a\r\n b\r\n\r\n" +
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1;a\r\nb\r\n0\r\nT: x\r\n\r\n" +
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length:" +
		strings.Repeat(" ", 60) + "1\r\n\r\n1"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		from := bytes.NewReader(sent)
		requests := bufio.NewReader(from)
		for at := 0; ; {
			r, err := http.ReadRequest(requests)
			if err != nil {
				return
			}
			head, _, _ := bytes.Cut(bytes.ReplaceAll(sent[at:], []byte("\r\n"), []byte("\n")), []byte("\n\n"))
			head = bytes.ToLower(head)
			chunked := bytes.Contains(head, []byte("\ntransfer-encoding:"))
			both := chunked && (bytes.Contains(head, []byte("\ncontent-length:")) || len(r.TransferEncoding) == 0)
			_, err = io.Copy(io.Discard, r.Body)
			at = len(sent) - from.Len() - requests.Buffered()
			var seen framing
			if _, refused := seen.scan(sent[:at]); refused != nil || seen.step == unknown {
				return
			}
			if both {
				t.Fatalf("%q was let through", sent[:at])
			}
			if err != nil {
				return
			}
			if seen.step != requestLine || seen.skip > 0 || len(seen.line) > 0 {
				t.Fatalf("%q ends a request, and framing is at %d", sent[:at], seen.step)
			}
		}
	})
}
