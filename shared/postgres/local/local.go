// Package local runs a Postgres server from the binaries installed on this machine, for
// `herald run` and for tests. It needs no configuration and lets no other user of the machine in.
// On Linux the server ends with its parent, even when the parent is killed; what a durable server
// has acknowledged is not lost by that. The package runs on Unix systems only.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	superuser = "postgres"
	// limit of a start, which may include the recovery after a kill, and of a stop.
	limit = time.Minute
	// attempts to start, as another process may take the port that was found free.
	attempts = 3
)

// Options of a server.
type Options struct {
	// Dir holds all of the server's files and is made when it is missing. When
	// Start is called by root, the user postgres (else nobody) must be able to
	// enter every directory above it.
	Dir string
	// Bin is the directory of initdb and postgres. Empty searches PATH and the
	// places where Linux distributions and Homebrew install them.
	Bin string
	// Volatile gives up durability for speed: a power cut may destroy the data.
	Volatile bool
}

// Server is a running server with one superuser, database postgres, and UTF-8 text
// in the C locale.
type Server struct {
	dir      string
	account  account
	password string
	sockets  string // directory of the unix socket
	port     int
	process  *process
	bin      binaries
	volatile bool
	// parentLock says that this process uses dir, fileLock that some process, the
	// server included, uses the database files.
	parentLock, fileLock *os.File
}

// Start makes the database files if there are none, starts the server and returns when it accepts
// connections. The context bounds the start, not the server. An error says what to type when a
// person can help.
func Start(ctx context.Context, o Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start Postgres: %w", err)
	}
	s := &Server{dir: dir}
	if err := s.start(ctx, o, freePort); err != nil {
		s.release()
		return nil, fmt.Errorf("start Postgres in %s: %w", dir, err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options, port func() (int, error)) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	var err error
	if s.bin, err = s.account.findBinaries(ctx, o.Bin, writtenBy(s.data())); err != nil {
		return err
	}
	s.volatile = o.Volatile
	if err := s.account.enter(ctx, s.bin, s.dir); err != nil {
		return err
	}
	if err := s.claim(ctx); err != nil {
		return err
	}
	if err := s.initialize(ctx); err != nil {
		return err
	}
	if err := s.placeSockets(); err != nil {
		return err
	}
	for range attempts {
		if s.port, err = port(); err != nil {
			return err
		}
		if err = s.launch(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// URL returns a postgres:// address of the superuser over the unix socket, the fastest
// connection. It contains the password.
func (s *Server) URL() string {
	place := url.Values{"host": {s.sockets}, "port": {strconv.Itoa(s.port)}}
	return s.url("", place)
}

// TCP returns the same over the loopback port, for programs without unix sockets.
func (s *Server) TCP() string {
	host := net.JoinHostPort(loopback, strconv.Itoa(s.port))
	return s.url(host, url.Values{"sslmode": {"disable"}})
}

func (s *Server) url(host string, query url.Values) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, s.password),
		Host: host, Path: "/postgres",
		// libpq, unlike net/url, reads + as a plus.
		RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20"),
	}
	return u.String()
}

// Wait returns how the server has ended by itself, with the end of its log; nil if ctx ended first.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.process.done:
		return s.explain("the server has ended", cmp.Or(s.process.err, errEnded))
	case <-ctx.Done():
		return nil
	}
}

// errEnded stands for the end of a server that has ended without an error, as somebody's signal makes it.
var errEnded = errors.New("exit status 0")

// Restart starts a server again that has ended by itself, at the same address. It waits for the end of all its
// processes first.
func (s *Server) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.fileLock.Close()
	err := s.claimFiles(ctx)
	if err == nil {
		err = s.launch(ctx)
	}
	if err != nil {
		return fmt.Errorf("start Postgres in %s again: %w", s.dir, err)
	}
	return nil
}

// Stop disconnects the clients, shuts the server down and waits for its end. When the context
// ends first the server is killed, and recovers at its next start.
func (s *Server) Stop(ctx context.Context) error {
	defer s.release()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s.process.signal(syscall.SIGINT)
	select {
	case <-s.process.done:
		return nil
	case <-ctx.Done():
		s.kill()
		return fmt.Errorf("stop Postgres in %s: %w", s.dir, ctx.Err())
	}
}

// kill ends the server without a checkpoint; Postgres itself bounds this to seconds.
func (s *Server) kill() {
	s.process.signal(syscall.SIGQUIT)
	<-s.process.done
}

func (s *Server) release() {
	s.parentLock.Close() // without an open file Close does nothing
	s.fileLock.Close()
	if s.sockets != "" && s.sockets != s.dir {
		os.Remove(s.sockets)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

const loopback = "127.0.0.1"

// freePort returns a port on which no process listens now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
