//go:build !container

// The image has no NATS server of its own.

package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"herald/shared/secret"
)

// Embedded describes a server in this process.
type Embedded struct {
	// Dir is the directory of the streams.
	Dir string
	// Listen is the address for other programs. Empty means no address, port 0 any free port.
	Listen string
	Keys   secret.Keys
	// Log gets the server's warnings and errors; nil for none.
	Log *ServerLog
}

// Start runs a server with JetStream and the users that Users returns. The server acknowledges a message when it is
// on disk. Stop ends the server.
func (e Embedded) Start() (*server.Server, error) {
	options := &server.Options{
		ServerName: "herald", JetStream: true, StoreDir: e.Dir, SyncAlways: true,
		MaxPayload: MaxPayload, NoSigs: true, NoLog: true, DontListen: e.Listen == "",
		PingInterval: PingInterval, MaxPingsOut: MaxPings,
		JetStreamMaxMemory: 32 << 20, JetStreamMaxStore: 8 << 30,
	}
	if e.Listen != "" {
		host, port, err := net.SplitHostPort(e.Listen)
		if err != nil {
			return nil, fmt.Errorf("HERALD_NATS_LISTEN: %w", err)
		}
		options.Host = host
		if options.Port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("HERALD_NATS_LISTEN: port %q is not a number", port)
		}
		if options.Port == 0 {
			options.Port = server.RANDOM_PORT
		}
	}
	if err := forgetDamagedConsumers(e.Dir); err != nil {
		return nil, fmt.Errorf("NATS: %w", err)
	}
	users, err := Users()
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		options.Users = append(options.Users, u.server(Password(e.Keys, u.Name)))
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("NATS: %w", err)
	}
	if e.Log != nil {
		s.SetLoggerV2(e.Log, false, false, false)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return nil, errors.New("NATS was not ready within 10 s: is the address of HERALD_NATS_LISTEN taken?")
	}
	return s, nil
}

// forgetDamagedConsumers removes the consumers of which NATS cannot read the settings. NATS would take the settings for
// those of a newer version, and refuse the whole stream. The services make their consumers again.
func forgetDamagedConsumers(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "*", "obs", "*", "meta.inf"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		settings := json.NewDecoder(bytes.NewReader(text))
		settings.DisallowUnknownFields()
		if err := settings.Decode(&server.FileConsumerInfo{}); err == nil {
			continue
		}
		if err := os.RemoveAll(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends a server and waits until its streams are closed.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

const (
	// look is how often Ended checks a server.
	look = time.Second
	// sure is how many checks in a row must fail. One failure is not enough, because a new stream fails one check.
	sure = 2
)

// Ended waits until a server has ended or cannot write its streams any more, for example after its disk was full. It
// returns the reason. Only a restart repairs such a server. Ended returns nil when ctx ends.
func Ended(ctx context.Context, s *server.Server) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for broken := 0; ; {
		h := s.Healthz(nil)
		switch {
		case !s.Running():
			return errors.New("NATS has ended")
		case h.Error == "":
			broken = 0
		default:
			if broken++; broken == sure {
				return fmt.Errorf("NATS: %s", h.Error)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (u User) server(password secret.Text) *server.User {
	// An empty list would allow every subject.
	publish := &server.SubjectPermission{Allow: u.Publish}
	if len(u.Publish) == 0 {
		publish = &server.SubjectPermission{Deny: []string{">"}}
	}
	p := &server.Permissions{Publish: publish, Subscribe: &server.SubjectPermission{Allow: u.Subscribe}}
	if u.Answers {
		p.Response = &server.ResponsePermission{MaxMsgs: 1, Expires: time.Minute}
	}
	return &server.User{Username: u.Name, Password: password.Reveal(), Permissions: p}
}
