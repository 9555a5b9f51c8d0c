// Package allinone runs the whole system in one process: a local Postgres, NATS, all services,
// the gateway, and an inbox that shows the mails. NATS users and database roles are the same as
// in a process per service.
package allinone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"herald/deploy/herald/internal/inbox"
	"herald/deploy/herald/internal/services"
	"herald/gateway"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/retry"
	"herald/shared/secret"
)

const stopLimit = 20 * time.Second

// secretMode is the mode of files that only their owner may read.
const secretMode = 0o600

// system is the running parts, in the order of their start.
type system struct {
	services.RunConfig
	boot.Observe
	boot.Trust
	services *services.All
	out      io.Writer
	lock     *os.File
	disk     disk
	ground   boot.Ground
	closeOps func()
	postgres *local.Server
	nats     *nats
	inbox    *inbox.Inbox
	page     net.Listener
	smtp     net.Listener
	opened   []*boot.Service
	gateway  *gateway.Gateway
}

// Run runs everything until ctx ends. It writes what the operator reads to out, with a line `ready`
// when requests will succeed, and logs to logs. It returns InUse if another process has the data directory.
func Run(ctx context.Context, environ []string, out, logs io.Writer) error {
	s := system{services: services.New(), out: out}
	if err := boot.Load(environ, append(s.services.Configs(), &s.RunConfig, &s.Observe, &s.Trust)...); err != nil {
		return err
	}
	err := s.Trust.Check()
	if err == nil {
		s.Database, err = s.Trust.Postgres(s.Database)
	}
	if err == nil {
		err = s.prepare(ctx, logs)
	}
	if err == nil {
		err = s.start(ctx)
	}
	if err == nil {
		s.ground.Started()
		s.welcome()
		err = s.work(ctx)
	}
	return errors.Join(err, s.stop())
}

// prepare locks the data directory, and makes the keys at the first start. Before it makes anything it checks for what
// would make the start fail later.
func (s *system) prepare(ctx context.Context, logs io.Writer) error {
	telemetry, err := boot.NewTelemetry(ctx, s.Observe, "run", logs)
	if err != nil {
		return err
	}
	public, err := s.services.PublicURL(s.PublicURL)
	if err != nil {
		return err
	}
	if s.DataDir, err = filepath.Abs(s.DataDir); err != nil {
		return fmt.Errorf("HERALD_DATA_DIR: %w", err)
	}
	s.disk = disk{dir: s.DataDir, log: telemetry.Log}
	need := int64(least)
	if _, err := os.Lstat(s.file("postgres/data")); err != nil && s.Database.Empty() {
		need = first
	}
	if s.lock, err = claim(s.DataDir, time.Now()); err != nil {
		return s.disk.explain(err, need)
	}
	if err := errors.Join(s.checkPorts(), s.disk.check(need)); err != nil {
		return err
	}
	if s.Database.Empty() {
		if err := local.Check(ctx, s.localPostgres()); err != nil {
			return err
		}
	}
	keys, err := s.masterKey(ctx)
	if err != nil {
		return err
	}
	s.ground = boot.Ground{
		Telemetry: telemetry, Health: boot.NewHealth(), Keys: keys, PublicURL: public, Now: time.Now,
		Streams: event.StreamConfig{MaxBytes: s.MaxBytes, Replicas: 1}, Pairs: secret.NewPairs(),
	}
	if s.services.Users.TokenFile == "" {
		s.services.Users.TokenFile = s.file("admin.pat")
	}
	s.ground.Health.Starting()
	s.ground.Health.Check("disk", s.disk.err)
	s.ground.Metrics.MustRegister(s.disk.metric())
	s.closeOps, err = boot.ServeOps(s.Observe, s.ground)
	return err
}

func (s *system) file(name string) string { return filepath.Join(s.DataDir, name) }

// start starts the servers in parallel, then the services in parallel, then the gateway, so that
// everything answers when the gateway listens.
func (s *system) start(ctx context.Context) error {
	if err := together(s.startPostgres(ctx), s.startNATS, s.startInbox); err != nil {
		return err
	}
	var opens []func() error
	var mu sync.Mutex
	for _, name := range services.Names() {
		opens = append(opens, func() (err error) {
			defer retry.Slow(s.ground.Log, name+" starts")(&err)
			database, err := postgres.Provision(ctx, s.Database, s.ground.Keys, name)
			if err != nil {
				return err
			}
			service, err := s.services.Open(ctx, s.ground, name, database, s.out)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			s.opened = append(s.opened, service)
			return nil
		})
	}
	if err := together(opens...); err != nil {
		return err
	}
	var err error
	s.gateway, err = gateway.New(ctx, s.ground, s.services.Gateway)
	return err
}

func (s *system) startPostgres(ctx context.Context) func() error {
	return func() error {
		if !s.Database.Empty() {
			return nil
		}
		var err error
		if s.postgres, err = local.Start(ctx, s.localPostgres()); err != nil {
			return err
		}
		s.Database = secret.NewText(s.postgres.URL())
		return postgres.RefuseChanges(ctx, s.Database, false) // an earlier run may have ended while the disk was full
	}
}

func (s *system) localPostgres() local.Options {
	return local.Options{Dir: s.file("postgres"), Bin: os.Getenv("PG_BIN"), Log: s.ground.Log}
}

func (s *system) startNATS() (err error) {
	if s.NATS != "" {
		s.ground.Bus = bus.Address{URL: s.NATS, CAFile: s.CAFile}
		return nil
	}
	defer retry.Slow(s.ground.Log, "NATS starts")(&err)
	if s.nats, err = startNATS(bus.Embedded{Dir: s.file("nats"), Listen: s.NATSListen,
		Keys: s.ground.Keys, Log: bus.NewServerLog(s.ground.Log)}); err != nil {
		return err
	}
	s.ground.Bus = bus.Address{Server: s.nats}
	if s.NATSListen == "" {
		return nil
	}
	return errors.Join(s.writeURL(bus.Subscriber), s.writeURL(bus.Operator))
}

// writeURL writes a file with the URL and password of a NATS user on this machine.
func (s *system) writeURL(user string) error {
	u := url.URL{
		Scheme: "nats", Host: s.nats.Listen, User: url.UserPassword(user,
			bus.Password(s.ground.Keys, user).Reveal()),
	}
	return secret.ReplaceFile(s.file(user+".url"), u.String()+"\n", secretMode)
}

// startInbox starts the inbox unless the environment has set a mail server. If the API sets one, the inbox still shows
// the mails of before, and gets none.
func (s *system) startInbox() error {
	if !s.services.Notification.SMTP.Empty() {
		return nil
	}
	var err error
	if s.inbox, err = inbox.Open(s.file("inbox"), s.ground.Log); err != nil {
		return err
	}
	if s.page, err = net.Listen("tcp", s.InboxListen); err != nil {
		return fmt.Errorf("HERALD_INBOX_LISTEN: %w", err)
	}
	if s.smtp, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return fmt.Errorf("inbox: %w", err)
	}
	s.services.Notification.Inbox = "smtp://" + s.smtp.Addr().String() + "?starttls=off"
	return nil
}

func (s *system) welcome() {
	if _, err := os.Stat(s.services.Users.TokenFile); err == nil { // the first start wrote it, perhaps elsewhere
		fmt.Fprintf(s.out, "administrator's token: %s\n", s.services.Users.TokenFile)
	}
	if s.page != nil {
		fmt.Fprintf(s.out, "mails: http://%s\n", shown(s.page.Addr()))
	}
	if s.nats != nil && s.NATSListen != "" {
		fmt.Fprintf(s.out, "events: %s\n", s.file("subscriber.url"))
	}
	fmt.Fprintf(s.out, "ready %s\n", s.ground.PublicURL)
}

// shown returns an address that a browser on this machine can open.
func shown(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if ip := net.ParseIP(host); err == nil && ip != nil && (ip.IsLoopback() || ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return a.String()
}

// together runs all functions in parallel, waits for them, and returns the first error, because it mostly causes the
// others.
func together(all ...func() error) error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, f := range all {
		wait.Go(func() { errs[i] = f() })
	}
	wait.Wait()
	return cmp.Or(errs...)
}
