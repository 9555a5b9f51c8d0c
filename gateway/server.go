package gateway

import (
	"bytes"
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
	return plainlessConn{c}, nil
}

type plainlessConn struct{ *net.TCPConn }

// plainHeaders ends the head of every such answer. net/http writes the answer at once, and the
// gateway's own answers have more headers after the type.
const plainHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write implements net.Conn.
func (c plainlessConn) Write(b []byte) (int, error) {
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
