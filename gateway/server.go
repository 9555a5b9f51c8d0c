package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

const (
	maxHeaders = 16 << 10
	// readHeaders is how much net/http reads: more than maxHeaders, so that the gateway itself
	// refuses larger headers.
	readHeaders = 64 << 10
	// firstLine is how long the first line of a connection may take from its first byte.
	firstLine = 2 * time.Second
	// sendBuffer is how many bytes of answers the operating system keeps for a connection. Without it
	// some megabytes wait for each client that reads nothing.
	sendBuffer = 128 << 10
)

// newServer returns a server for HTTP/1.1 and, with prior knowledge, HTTP/2 without TLS. Every
// wait has a time limit, so that no client holds resources for ever.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       45 * time.Second,
		WriteTimeout:      90 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    readHeaders,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		Protocols:         &http.Protocols{},
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          128,
			MaxReceiveBufferPerConnection: 4 << 20,
			MaxReceiveBufferPerStream:     maxBody,
			SendPingTimeout:               30 * time.Second,
			PingTimeout:                   15 * time.Second,
			WriteByteTimeout:              30 * time.Second,
		},
		DisableGeneralOptionsHandler: true,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return s
}

// plainless is a listener that replaces the plain text with which net/http refuses malformed
// requests by error bodies.
type plainless struct{ *net.TCPListener }

func (l plainless) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	if err := c.SetWriteBuffer(sendBuffer); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &plainlessConn{TCPConn: c}, nil
}

type plainlessConn struct {
	*net.TCPConn
	// begun is set by the first byte, lined by the end of the first line. limit is net/http's limit until then.
	begun, lined bool
	limit        time.Time
}

// Read implements net.Conn. A client of another protocol often sends no line at all.
func (c *plainlessConn) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	if c.lined || n == 0 {
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
	return n, cmp.Or(err, c.TCPConn.SetReadDeadline(limit))
}

// SetReadDeadline implements net.Conn.
func (c *plainlessConn) SetReadDeadline(t time.Time) error {
	if !c.lined {
		c.limit = t
	}
	return c.TCPConn.SetReadDeadline(t)
}

// plainHeaders ends the head of every such answer. net/http writes the answer at once, and the
// gateway's own answers have more headers after the type.
const plainHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write implements net.Conn.
func (c *plainlessConn) Write(b []byte) (int, error) {
	if len(b) > 512 || !bytes.HasPrefix(b, []byte("HTTP/1.1 ")) || !bytes.Contains(b, []byte(plainHeaders)) {
		return c.TCPConn.Write(b)
	}
	status, _ := strconv.Atoi(string(b[len("HTTP/1.1 "):][:3]))
	f := ErrRequest.WithStatus(status)
	if status == http.StatusRequestHeaderFieldsTooLarge {
		f = ErrHeaders
	}
	body := encodeFault(f)
	_, err := fmt.Fprintf(c.TCPConn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"+
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s", status, http.StatusText(status), len(body), body)
	return len(b), err
}
