package edge

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"herald/gateway/internal/exchange"
)

// connKey is the key of a connection in the context of its requests.
type connKey struct{}

const (
	maxHeaders = 16 << 10
	// readHeaders is how much net/http reads: more than maxHeaders, so that the gateway itself
	// refuses larger headers.
	readHeaders = 64 << 10
)

// NewServer returns a server for HTTP/1.1 and HTTP/2, which it knows by its first bytes, with and without TLS. Every
// wait has a time limit, so that no client can hold resources for ever.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
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
			MaxReceiveBufferPerStream:     exchange.MaxBody,
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
