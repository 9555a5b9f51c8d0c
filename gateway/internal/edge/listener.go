package edge

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"herald/gateway/internal/exchange"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
)

const (
	// firstLine is how long the first line of a connection may take from its first byte.
	firstLine = 2 * time.Second
	// sendBuffer is how many bytes of answers the operating system keeps for a connection. Without it some megabytes
	// would wait for each client that reads nothing.
	sendBuffer = 128 << 10
)

// Listener accepts the connections of the port. net/http refuses malformed requests with plain text;
// a Listener replaces it by the error body of REST.
type Listener struct {
	*net.TCPListener
	// TLS is nil for a port without.
	TLS *tls.Config
}

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	if err := c.SetWriteBuffer(sendBuffer); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if l.TLS == nil {
		return &conn{stream: c, tcp: c}, nil
	}
	return &conn{stream: tls.Server(c, l.TLS), tcp: c}, nil
}

// stream is a connection of TCP, or of TLS over it.
type stream interface {
	net.Conn
	CloseWrite() error
}

// conn is a connection of the port. net/http does not see that it has TLS, because conn reads and writes what TLS
// protects.
type conn struct {
	stream
	tcp *net.TCPConn
	// begun is set by the first byte, lined by the end of the first line.
	begun, lined bool
	// limit is the deadline of net/http, which counts again after the first line.
	limit   time.Time
	framing framing
}

// Read implements net.Conn. The first line has a time limit of its own: a client of another protocol often sends
// no line at all.
func (c *conn) Read(b []byte) (int, error) {
	if c.framing.failed {
		return 0, errTwoLengths
	}
	n, err := c.stream.Read(b)
	if n == 0 {
		if plain := (tls.RecordHeaderError{}); errors.As(err, &plain) && plain.Conn != nil {
			c.refuse(plain.Conn, http.StatusBadRequest,
				gatewayfault.ErrRequestMalformed.Say("This port takes HTTPS only: the address begins with https"))
		}
		return n, err
	}
	if n, refused := c.framing.scan(b[:n]); refused != nil {
		return n, refused
	}
	if c.lined {
		return n, err
	}
	limit := c.limit
	if c.lined = bytes.IndexByte(b[:n], '\n') >= 0; !c.lined {
		if c.begun {
			return n, err
		}
		limit = time.Now().Add(firstLine)
	}
	c.begun = true
	return n, cmp.Or(err, c.stream.SetReadDeadline(limit))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !c.lined {
		c.limit = t
	}
	return c.stream.SetReadDeadline(t)
}

// plainHeaders ends the head of every plain answer of net/http, which is one write. The
// gateway's own answers have more headers after the type.
const plainHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if len(b) > 512 || !bytes.HasPrefix(b, []byte("HTTP/1.1 ")) || !bytes.Contains(b, []byte(plainHeaders)) {
		return c.stream.Write(b)
	}
	status, _ := strconv.Atoi(string(b[len("HTTP/1.1 "):][:3]))
	f := gatewayfault.ErrRequestMalformed.WithStatus(status)
	if status == http.StatusRequestHeaderFieldsTooLarge {
		f = gatewayfault.ErrHeadersTooLarge
	}
	c.refuse(c.stream, status, f)
	return len(b), nil
}

// refuse answers a request that net/http does not read. An error changes nothing: the connection is closed next.
func (c *conn) refuse(to io.Writer, status int, f *fault.Fault) {
	body := exchange.EncodeFault(f)
	_, err := fmt.Fprintf(to, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"+
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", status, http.StatusText(status), len(body), body)
	if err == nil {
		c.drain()
	}
}

// SyscallConn implements syscall.Conn.
func (c *conn) SyscallConn() (syscall.RawConn, error) { return c.tcp.SyscallConn() }

// drain reads what a client is still sending whose request net/http has refused. net/http closes the connection next,
// and the client would lose the answer if bytes were unread.
func (c *conn) drain() {
	if c.CloseWrite() != nil || c.tcp.SetReadDeadline(time.Now().Add(exchange.DrainTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, c.tcp, exchange.MaxDrained) // an error changes nothing: the answer is sent already
}
