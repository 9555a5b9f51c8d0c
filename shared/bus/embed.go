package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"herald/shared/secret"
)

// Embedded describes a server in this process.
type Embedded struct {
	// Dir is the folder of the streams.
	Dir string
	// Listen is the address for other programs: empty for none, port 0 for any free port.
	Listen string
	Keys   secret.Keys
	// Log gets the server's warnings and errors; nil for none.
	Log *ServerLog
}

// Start runs a server with JetStream and the users of Users. It acknowledges a message when the
// message is on disk. Stop ends it.
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

// Stop ends a server and waits until its streams are closed.
func Stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

const (
	// look is how often Ended looks at a server.
	look = time.Second
	// sure is how many looks in a row find a server that does not work. A stream that is just made looks broken once.
	sure = 2
)

// Ended waits until a server has ended or does not write its streams any more, as after its disk was full, and
// returns why. It returns nil when ctx has ended. Only a restart helps such a server.
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
	// An empty list would allow everything.
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
