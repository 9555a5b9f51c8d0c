package upload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"herald/gateway/internal/exchange"
	"herald/shared/gen/fault/gatewayfault"
)

// counted counts what is read.
type counted struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// inflated reads an uncompressed body. It stops if the body is much larger than its compressed form, because a few KiB
// of gzip could keep the gateway busy for an hour.
type inflated struct {
	counted
	packed *counted
}

// maxInflation is how much larger a body can be than it was compressed, beyond its first MiB.
// Users with hashes of their own are compressed about 4 times.
const maxInflation = 100

// Read implements io.Reader.
func (i *inflated) Read(b []byte) (int, error) {
	if i.n > 1<<20+maxInflation*i.packed.n {
		return 0,
			gatewayfault.ErrImportBrokenOff.Say("The body is compressed more than %d times, which users cannot be",
				maxInflation)
	}
	return i.counted.Read(b)
}

// slowReader reads a body whose client can take a long time, but not pause for long.
type slowReader struct {
	ctx     context.Context
	body    io.Reader
	control *http.ResponseController
}

// Read implements io.Reader. It also returns when the context ends.
func (s slowReader) Read(b []byte) (int, error) {
	_ = s.control.SetReadDeadline(time.Now().Add(exchange.PauseLimit)) // replaces the server's limit
	if err := context.Cause(s.ctx); err != nil {
		return 0, err
	}
	woken := make(chan struct{})
	forget := context.AfterFunc(s.ctx, func() {
		_ = s.control.SetReadDeadline(time.Unix(1, 0))
		close(woken)
	})
	n, err := s.body.Read(b)
	if !forget() {
		<-woken // a deadline that is set later could be that of another request
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = context.Cause(s.ctx)
		}
	}
	if errors.Is(err, io.EOF) {
		_ = s.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// slowWriter writes to a client that can take a long time, but not pause for long.
type slowWriter struct{ *exchange.Exchange }

// Write implements io.Writer.
func (s slowWriter) Write(b []byte) (int, error) {
	s.AwaitReader()
	return s.Exchange.Write(b)
}
