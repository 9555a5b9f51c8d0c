// Package command is the command line of herald: a list of commands, each of which
// reads its settings from the environment and says what it needs.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/allinone"
	"herald/gateway"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/secret"
)

// Main runs the command line until it is done or told to stop, and exits if it fails.
func Main(more ...*cobra.Command) {
	defer runtime.KeepAlive(make([]byte, spare))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal quits
	err := root(more).ExecuteContext(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "herald:", err)
		os.Exit(exitCode(err))
	}
}

// fewest is how many threads run Go code at once, also on smaller machines.
const fewest = 4

// runOnFour is for the process with NATS in it, which syncs a file for each event. Until
// Go's runtime notices, such a thread waits with all that stands behind it: of two, with
// half of the work. GOMAXPROCS decides otherwise.
func runOnFour() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < fewest {
		runtime.GOMAXPROCS(fewest)
	}
}

// spare is memory that counts as in use and is none, as nobody touches it: garbage may
// grow to some 40 MB before it is collected, however little is in use. With Go's own rule
// alone an eighth of the work was collecting. A larger GOGC would do the same to the large
// blocks of password hashes.
const spare = 32 << 20

func root(more []*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "herald",
		Short: "Herald is an identity platform: organizations, people, applications, and their logins",
		Long: `Herald is an identity platform: organizations, people, applications, and their logins.

Settings are environment variables; "herald settings" lists them.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(gatewayOnly(), settings(), replay(), dead(), secrets(), databases(), health(), adminPAT(),
		subscriberPassword(), call())
	root.AddCommand(more...)
	for _, name := range allinone.Names() {
		root.AddCommand(service(name))
	}
	return root
}

// Run returns the command that runs everything. It is not in every binary: it brings a
// NATS server and an inbox along, a quarter of the size.
func Run() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run everything in this process, with a local Postgres, NATS and an inbox for the mails",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			runOnFour()
			return allinone.Run(c.Context(), os.Environ(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
}

// single is the settings of a process that runs one service.
type single struct {
	Database     secret.Text `env:"HERALD_DATABASE_URL" help:"the service's own database, as its own role; without a user, herald_<service> with the password that is derived from the master key"`
	PublicURL    string      `env:"HERALD_PUBLIC_URL" envDefault:"http://localhost:8080" help:"the address that browsers and mails use"`
	NATS         string      `env:"HERALD_NATS_URL" help:"NATS server, such as nats://nats:4222"`
	MasterKey    secret.Text `env:"HERALD_MASTER_KEY" help:"64 hexadecimal digits from which every key is derived; a second line is the key before the last rotation"`
	MaxBytes     int64       `env:"HERALD_EVENTS_MAX_BYTES" envDefault:"1073741824" help:"size in bytes at which the stream of events drops its oldest, such as 16777216; at least 1 MiB"`
	NATSReplicas int         `env:"HERALD_NATS_REPLICAS" envDefault:"1" help:"copies of each stream: 1 on a single NATS node, 3 in a cluster"`
}

// process is what a process that runs one service has read and stands on.
type process struct {
	single
	services *allinone.Services
	ground   boot.Ground
	// stop closes the operator's port.
	stop func()
}

// prepare reads the settings and prepares the ground. The settings of other services
// are known, so that one file of settings serves all processes.
func prepare(ctx context.Context, name string, logs io.Writer) (*process, error) {
	p := process{services: allinone.NewServices()}
	var o boot.Observe
	if err := boot.Load(os.Environ(), append(p.services.Configs(), &p.single, &o)...); err != nil {
		return nil, err
	}
	keys, err := secret.ParseKeys(p.MasterKey.Reveal())
	if err != nil {
		return nil, fmt.Errorf("HERALD_MASTER_KEY: %w", err)
	}
	public, err := boot.ParsePublicURL(p.PublicURL)
	if err != nil {
		return nil, err
	}
	if p.NATS == "" {
		return nil, errors.New("HERALD_NATS_URL is not set; such as nats://nats:4222")
	}
	telemetry, err := boot.NewTelemetry(ctx, o, name, logs)
	if err != nil {
		return nil, err
	}
	p.ground = boot.Ground{
		Telemetry: telemetry, Health: boot.NewHealth(), Keys: keys, PublicURL: public, Bus: bus.Address{URL: p.NATS},
		Streams: event.StreamConfig{MaxBytes: p.MaxBytes, Replicas: p.NATSReplicas}, Now: time.Now,
	}
	p.ground.Health.Starting()
	p.stop, err = boot.ServeOps(o, p.ground)
	return &p, err
}

func service(name string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: "Run the " + name + " service",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := prepare(c.Context(), name, c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer p.stop()
			if p.Database.Empty() {
				return errors.New("HERALD_DATABASE_URL is not set; such as postgres://postgres:5432")
			}
			database, err := postgres.Own(p.Database, p.ground.Keys, name)
			if err != nil {
				return err
			}
			s, err := p.services.Open(c.Context(), p.ground, name, database)
			if err != nil {
				return err
			}
			p.services.Welcome(c.OutOrStdout())
			p.ground.Health.Started()
			p.ground.Log.InfoContext(c.Context(), "ready", "service", name)
			s.Run(c.Context())
			return p.ground.Flush(context.WithoutCancel(c.Context()))
		},
	}
}

func gatewayOnly() *cobra.Command {
	return &cobra.Command{
		Use:   "gateway",
		Short: "Run the gateway",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := prepare(c.Context(), "gateway", c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer p.stop()
			w, err := gateway.New(c.Context(), p.ground, p.services.Gateway)
			if err != nil {
				return err
			}
			p.ground.Health.Started()
			p.ground.Log.InfoContext(c.Context(), "ready", "address", w.Addr().String())
			return errors.Join(w.Run(c.Context()), p.ground.Flush(context.WithoutCancel(c.Context())))
		},
	}
}
