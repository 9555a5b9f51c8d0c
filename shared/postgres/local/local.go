// Package local runs a Postgres server from the binaries that are installed on this machine. `herald run` and tests
// use it. It needs no configuration, and no other user of the machine can connect. On Linux the server ends with its
// parent, even if the parent is killed. A server that is not volatile loses no acknowledged data by this. The package
// works only on Unix systems.
package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	// limit is the time limit for starting and for stopping. A start may include the recovery after a kill.
	limit = time.Minute
	// attempts is how many ports a start tries, because another process may take a free port in the meantime.
	attempts = 3
	// lastCheckpoint is how long the server of an earlier run may take for its last checkpoint.
	lastCheckpoint = 10 * time.Second
)

// Options of a server.
type Options struct {
	// Dir is the directory of all files of the server. It is created if it is missing. If root calls Start, the user
	// postgres (or else nobody) must be able to enter every directory above Dir.
	Dir string
	// Bin is the directory of initdb and postgres. If it is empty, Start searches PATH and the directories that Linux
	// distributions and Homebrew use.
	Bin string
	// Volatile makes the server faster but not durable: a power cut may destroy the data.
	Volatile bool
	// Log gets a line for each wait that is long. It may be nil.
	Log *slog.Logger
}

// Server is a running server with one superuser and the database postgres. Texts are in UTF-8 with the C locale.
type Server struct {
	dir      string
	account  account
	password string
	sockets  string // directory of the unix socket
	port     int
	process  *process
	bin      binaries
	volatile bool
	log      *slog.Logger
	// parentLock is held while this process uses dir. fileLock is held while any process uses the database files,
	// including the server.
	parentLock, fileLock *os.File
}

// Start creates the database files if there are none, starts the server and returns when it accepts connections. The
// context limits only the start and does not end the server. If a person can solve a problem, the error says what to
// type.
func Start(ctx context.Context, o Options) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start Postgres: %w", err)
	}
	s := &Server{dir: dir, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
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

// URL returns a postgres:// address of the superuser over the unix socket, which is the fastest connection. It
// contains the password.
func (s *Server) URL() string {
	place := url.Values{"host": {s.sockets}, "port": {strconv.Itoa(s.port)}}
	return s.url("", place)
}

// TCP returns the address of the superuser over the loopback port, for programs without unix sockets. It contains the
// password.
func (s *Server) TCP() string {
	host := net.JoinHostPort(loopback, strconv.Itoa(s.port))
	return s.url(host, url.Values{"sslmode": {"disable"}})
}

func (s *Server) url(host string, query url.Values) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, s.password),
		Host: host, Path: "/postgres",
		// net/url writes a space as +, but libpq reads + as a plus.
		RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20"),
	}
	return u.String()
}

// Wait waits until the server ends by itself, and returns an error with the end of its log. It returns nil if ctx
// ends first.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case <-s.process.done:
		return s.explain("the server has ended", cmp.Or(s.process.err, errEnded))
	case <-ctx.Done():
		return nil
	}
}

// errEnded is the cause for a server that ended without an error, for example because somebody sent it a signal.
var errEnded = errors.New("exit status 0")

// Restart starts the server again after it has ended by itself. The address stays the same. First it waits until all
// processes of the old server have ended.
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

// Stop disconnects the clients, shuts the server down and waits until it has ended. If the context ends first, the
// server is killed and recovers at its next start.
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

// kill ends the server without a checkpoint. Postgres then needs only seconds.
func (s *Server) kill() {
	s.process.signal(syscall.SIGQUIT)
	<-s.process.done
}

func (s *Server) release() {
	s.parentLock.Close() // on a nil file Close does nothing
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
