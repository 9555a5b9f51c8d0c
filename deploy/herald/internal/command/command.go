// Package command is the command line of herald. Each command reads its settings from the
// environment.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/gateway"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/secret"
)

// StartServers starts those servers of a data directory that the settings do not name. No other process uses the
// directory then.
type StartServers func(context.Context, services.RunConfig, boot.Trust, secret.Keys) (services.Servers, error)

// AllInOne is what only the binary with `herald run` has. The other one does not even contain its code.
type AllInOne struct {
	Run, Verify *cobra.Command
	Servers     StartServers
}

// Main runs the command line until it ends or gets a signal. It exits with a code if a command
// fails. The binary of the containers has no AllInOne.
func Main(a AllInOne) {
	boot.BoundMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal quits
	err := root(a).ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted: what is done stays done; the command can be repeated")
	}
	if err != nil {
		for text := range strings.SplitSeq("herald: "+err.Error(), "\n") {
			fmt.Fprintln(os.Stderr, folded(text, os.Stderr))
		}
		os.Exit(exitCode(err))
	}
}

// Serving returns the function of a command that runs until a signal. The end by a signal is a success for it.
func Serving(run func(*cobra.Command) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		if err := run(c); err != nil && (c.Context().Err() == nil || !errors.Is(err, context.Canceled)) {
			return err
		}
		return nil
	}
}

func root(a AllInOne) *cobra.Command {
	root := &cobra.Command{
		Use:   "herald",
		Short: "Herald is an identity platform: organizations, people, applications, and their logins",
		Long: `Herald is an identity platform: organizations, people, applications, and their logins.

Settings are environment variables; "herald settings" lists them.`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	processes := []*cobra.Command{gatewayOnly()}
	for _, name := range services.Names() {
		processes = append(processes, service(name))
	}
	backup := backups()
	if a.Run != nil {
		addGroup(root, "Run:", a.Run)
		backup.AddCommand(a.Verify)
	}
	addGroup(root, "Call the API:", call(), importUsers(), accessToken(), login(), logout())
	addGroup(root, "Operate:", settings(), health(), doctor(), backup, restore(a.Servers), recovered(a.Servers),
		migrations(), keys(), dead(), replay(), admin(), adminPAT(), secrets(), databases(), subscriberPassword())
	addGroup(root, "Run one process of several, as containers do:", processes...)
	return root
}

// release is the version that deploy/release.sh builds, or empty.
var release string

// version returns the version of the binary, its commit and the Go that built it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "of unknown origin"
	}
	commit := "unknown"
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			commit += " with changes"
		}
	}
	return fmt.Sprintf("%s, commit %s, %s", cmp.Or(release, info.Main.Version, "(devel)"), commit, info.GoVersion)
}

func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// single are the settings of a process that runs one service.
type single struct {
	Database     secret.Text `env:"HERALD_DATABASE_URL"`
	PublicURL    string      `env:"HERALD_PUBLIC_URL" envDefault:"http://localhost:8080"`
	NATS         string      `env:"HERALD_NATS_URL"`
	MasterKey    secret.Text `env:"HERALD_MASTER_KEY"`
	MaxBytes     int64       `env:"HERALD_EVENTS_MAX_BYTES" envDefault:"1073741824"`
	NATSReplicas int         `env:"HERALD_NATS_REPLICAS" envDefault:"1"`
}

// Help implements boot.Documented.
func (single) Help() map[string]string {
	return map[string]string{
		"HERALD_DATABASE_URL": "the service's own database, as its own role; without a user, herald_<service> " +
			"with the password that is derived from the master key",
		"HERALD_PUBLIC_URL": "the address that browsers and mails use",
		"HERALD_NATS_URL":   "NATS server, such as nats://nats:4222",
		"HERALD_MASTER_KEY": "64 hexadecimal digits from which every key is derived; further lines are keys " +
			"that still open what they have sealed: herald keys changes them",
		"HERALD_EVENTS_MAX_BYTES": "size in bytes at which the stream of events drops its oldest, such as " +
			"16777216; at least 1 MiB",
		"HERALD_NATS_REPLICAS": "copies of each stream: 1 on a single NATS node, 3 in a cluster",
	}
}

// config is the settings of all processes and commands. Each accepts those of the others, so that all can share one
// file of settings.
type config struct {
	services *services.All
	run      services.RunConfig
	single   single
	observe  boot.Observe
	trust    boot.Trust
}

func newConfig() *config { return &config{services: services.New()} }

// structs returns pointers to the structs of the settings.
func (c *config) structs() []any {
	return append(c.services.Configs(), &c.run, &c.single, &c.observe, &c.trust)
}

// load reads the settings from the environment.
func load() (*config, error) {
	c := newConfig()
	err := boot.Load(os.Environ(), c.structs()...)
	if err == nil {
		err = c.trust.Check()
	}
	for _, url := range []*secret.Text{&c.run.Database, &c.single.Database} {
		if err == nil {
			*url, err = c.trust.Postgres(*url)
		}
	}
	return c, err
}

// process is the settings and the ground of a process that runs one service.
type process struct {
	*config
	ground boot.Ground
	// stop closes the operator's port.
	stop func()
}

func prepare(ctx context.Context, name string, logs io.Writer) (*process, error) {
	c, err := load()
	if err != nil {
		return nil, err
	}
	keys, err := ownKeys(c.single.MasterKey, name)
	if err != nil {
		return nil, err
	}
	public, err := c.services.PublicURL(c.single.PublicURL)
	if err != nil {
		return nil, err
	}
	if c.single.NATS == "" {
		return nil, errors.New("HERALD_NATS_URL is not set; such as nats://nats:4222")
	}
	telemetry, err := boot.NewTelemetry(ctx, c.observe, name, logs)
	if err != nil {
		return nil, err
	}
	g := boot.Ground{
		Telemetry: telemetry, Health: boot.NewHealth(), Keys: keys, PublicURL: public,
		Bus:     bus.Address{URL: c.single.NATS, CAFile: c.trust.CAFile},
		Streams: event.StreamConfig{MaxBytes: c.single.MaxBytes, Replicas: c.single.NATSReplicas}, Now: time.Now,
		Pairs: secret.NewPairs(),
	}
	g.Health.Starting()
	stop, err := boot.ServeOps(c.observe, g)
	return &process{c, g, stop}, err
}

func service(name string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: "Run the " + name + " service",
		Example: "  HERALD_MASTER_KEY_FILE=/run/herald/master.key HERALD_NATS_URL=nats://nats:4222 \\\n" +
			"    HERALD_DATABASE_URL=postgres://postgres:5432 herald " + name,
		Args: cobra.NoArgs,
		RunE: Serving(func(c *cobra.Command) error {
			p, err := prepare(c.Context(), name, c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer p.stop()
			if p.single.Database.Empty() {
				return errors.New("HERALD_DATABASE_URL is not set; such as postgres://postgres:5432")
			}
			database, err := postgres.Own(p.single.Database, p.ground.Keys, name)
			if err != nil {
				return err
			}
			s, err := p.services.Open(c.Context(), p.ground, name, database, c.OutOrStdout())
			if err != nil {
				return err
			}
			p.ground.Started()
			p.ground.Log.InfoContext(c.Context(), "ready", "service", name)
			s.Run(c.Context())
			return p.ground.Flush(context.WithoutCancel(c.Context()))
		}),
	}
}

func gatewayOnly() *cobra.Command {
	return &cobra.Command{
		Use:     "gateway",
		Short:   "Run the gateway",
		Example: "  HERALD_MASTER_KEY_FILE=/run/herald/gateway.key HERALD_NATS_URL=nats://nats:4222 herald gateway",
		Args:    cobra.NoArgs,
		RunE: Serving(func(c *cobra.Command) error {
			p, err := prepare(c.Context(), "gateway", c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer p.stop()
			w, err := gateway.New(c.Context(), p.ground, p.services.Gateway)
			if err != nil {
				return err
			}
			p.ground.Started()
			p.ground.Log.InfoContext(c.Context(), "ready", "address", w.Addr().String())
			return errors.Join(w.Run(c.Context()), p.ground.Flush(context.WithoutCancel(c.Context())))
		}),
	}
}
