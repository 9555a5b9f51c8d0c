// Package command is the command line of herald: a list of commands, each of which
// reads its settings from the environment and says what it needs.
package command

import (
	"context"
	"fmt"
	"io"
	"os"
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

// New returns the command line.
func New() *cobra.Command {
	root := &cobra.Command{
		Use:   "herald",
		Short: "Herald is an identity platform: organizations, people, applications, and their logins",
		Long: `Herald is an identity platform: organizations, people, applications, and their logins.

Settings are environment variables; "herald settings" lists them.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(run(), gatewayOnly(), settings(), replay(), secrets(), health(), adminPAT())
	for _, name := range allinone.Names() {
		root.AddCommand(service(name))
	}
	return root
}

func run() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run everything in this process, with a local Postgres, NATS and an inbox for the mails",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return allinone.Run(c.Context(), os.Environ(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
}

// single is the settings of a process that runs one service.
type single struct {
	Database     secret.Text `env:"HERALD_DATABASE_URL" help:"the service's own database, as its own role; without a user, herald_<service> with the password that is derived from the master key"`
	NATS         string      `env:"HERALD_NATS_URL" help:"NATS server, such as nats://nats:4222"`
	MasterKey    secret.Text `env:"HERALD_MASTER_KEY" help:"64 hexadecimal digits from which every key is derived; a second line is the key before the last rotation"`
	MaxBytes     int64       `env:"HERALD_EVENTS_MAX_BYTES" envDefault:"1073741824" help:"size at which the stream of events is full"`
	NATSReplicas int         `env:"HERALD_NATS_REPLICAS" envDefault:"1" help:"copies of each stream: 1 on a single NATS node, 3 in a cluster"`
}

// ground prepares what a single service stands on. The function it answers with
// ends the process's own work.
func ground(ctx context.Context, name string, s single, o boot.Observe, logs io.Writer) (boot.Ground, func(), error) {
	keys, err := secret.ParseKeys(s.MasterKey.Reveal())
	if err != nil {
		return boot.Ground{}, nil, fmt.Errorf("HERALD_MASTER_KEY: %w", err)
	}
	if s.NATS == "" {
		return boot.Ground{}, nil, fmt.Errorf("HERALD_NATS_URL is not set; such as nats://nats:4222")
	}
	telemetry, err := boot.NewTelemetry(ctx, o, name, logs)
	if err != nil {
		return boot.Ground{}, nil, err
	}
	g := boot.Ground{
		Telemetry: telemetry, Health: boot.NewHealth(), Keys: keys, Bus: bus.Address{URL: s.NATS},
		Streams: event.StreamConfig{MaxBytes: s.MaxBytes, Replicas: s.NATSReplicas}, Now: time.Now,
	}
	g.Health.Starting()
	stop, err := boot.ServeOps(o, g)
	return g, stop, err
}

// service runs one service. The settings of the others are known, so that one file
// of settings serves all processes.
func service(name string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: "Run the " + name + " service",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var own single
			var observe boot.Observe
			var all allinone.Services
			if err := boot.Load(os.Environ(), append(all.Configs(), &own, &observe)...); err != nil {
				return err
			}
			if own.Database.Empty() {
				return fmt.Errorf("HERALD_DATABASE_URL is not set; such as postgres://%s:password@postgres/%s", postgres.Name(name), postgres.Name(name))
			}
			g, stop, err := ground(c.Context(), name, own, observe, c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer stop()
			database, err := postgres.Own(own.Database, g.Keys, name)
			if err != nil {
				return err
			}
			s, admin, err := all.Open(c.Context(), g, name, database)
			if err != nil {
				return err
			}
			allinone.Welcome(c.OutOrStdout(), admin)
			g.Health.Started()
			g.Log.InfoContext(c.Context(), "ready", "service", name)
			s.Run(c.Context())
			return nil
		},
	}
}

func gatewayOnly() *cobra.Command {
	return &cobra.Command{
		Use:   "gateway",
		Short: "Run the gateway",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var own single
			var observe boot.Observe
			var all allinone.Services
			if err := boot.Load(os.Environ(), append(all.Configs(), &own, &observe)...); err != nil {
				return err
			}
			g, stop, err := ground(c.Context(), "gateway", own, observe, c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer stop()
			w, err := gateway.New(c.Context(), g, all.Gateway)
			if err != nil {
				return err
			}
			g.Health.Started()
			g.Log.InfoContext(c.Context(), "ready", "address", w.Addr().String())
			return w.Run(c.Context())
		},
	}
}
