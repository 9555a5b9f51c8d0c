package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/deploy/herald/internal/backup"
	"herald/deploy/herald/internal/services"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/postgres"
	"herald/shared/secret"
)

func backups() *cobra.Command {
	var passphrase string
	c := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write all databases, as they are at one moment, into a file",
		Example: `  herald backup herald.backup
  herald backup - | age -r age1… > herald.backup.age`,
		Long: `Write all databases, as they are at one moment, into a file, or to standard output for "-".

The system can run. Changes wait for some milliseconds while that moment is taken. The file has names, addresses and
hashes of passwords: keep it where nobody reads it.

The master key is not in it. Keep the key apart: without it the backup opens none of its secrets. With
--passphrase-file the key is in the file too, and the passphrase opens it.

The databases are on the server HERALD_DATABASE_URL, or on that of the "herald run" that runs in HERALD_DATA_DIR.`,
		Args: cobra.ExactArgs(1),
		RunE: withRing(func(c *cobra.Command, r *ring, args []string) error {
			head, err := r.header(passphrase)
			if err != nil {
				return err
			}
			begin := time.Now()
			var end backup.End
			err = toFile(args[0], c.OutOrStdout(), func(out io.Writer) error {
				head, end, err = r.backup(c.Context(), out, head)
				return err
			})
			if err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "%d rows of %d databases, as they were at %s, in %s\n", end.Rows(),
				len(head.Services), head.Taken.Format(time.RFC3339), time.Since(begin).Round(time.Millisecond))
			if head.Wrapped == nil {
				fmt.Fprintf(c.ErrOrStderr(), "the master key %s is not in it: keep it apart\n", head.MasterKeys[0])
			}
			return nil
		}),
	}
	c.Flags().StringVar(&passphrase, "passphrase-file", "", "file with a passphrase, with which the master key is "+
		"sealed and added to the backup")
	return c
}

func (r *ring) header(passphraseFile string) (backup.Header, error) {
	head := backup.Header{Herald: version()}
	for _, id := range r.keys.IDs() {
		head.MasterKeys = append(head.MasterKeys, id.String())
	}
	if passphraseFile == "" {
		return head, nil
	}
	passphrase, err := readPassphrase(passphraseFile)
	if err == nil {
		head.Wrapped, err = backup.Wrap(r.keys, passphrase)
	}
	return head, err
}

func readPassphrase(file string) (secret.Text, error) {
	text, err := os.ReadFile(file)
	return secret.NewText(strings.TrimRight(string(text), "\r\n")), err
}

func (r *ring) backup(ctx context.Context, out io.Writer, head backup.Header) (backup.Header, backup.End, error) {
	var sources []backup.Source
	for _, name := range services.Names() {
		db, err := r.open(ctx, name, false)
		if err != nil {
			return head, backup.End{}, err
		}
		defer db.Close()
		sources = append(sources, backup.Source{Service: name, DB: db})
	}
	return backup.Write(ctx, out, head, sources)
}

// toFile calls write with a new file that only the user can read, or with out for "-". The file has its name only when
// it is complete.
func toFile(name string, out io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		if boot.Terminal(out) > 0 {
			return errors.New("a backup is not for a terminal: name a file, or a pipe")
		}
		return write(out)
	}
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s exists already: a backup replaces no file", name)
	}
	part := name + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // somebody else may have made a link
	if err != nil {
		return fmt.Errorf("%w: remove it if no other backup is written", err)
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return secret.RenameFile(part, name)
}

const (
	passphraseHelp = "file with the passphrase that opens the master key in the backup"
	keepKeysHelp   = "keep personal access tokens and keys"
)

func restore(start StartServers) *cobra.Command {
	var o backup.Options
	var passphrase string
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Fill empty databases with a backup",
		Example: `  herald restore herald.backup
  herald restore --replace --keep-keys herald.backup
  age -d herald.backup.age | herald restore -`,
		Long: `Fill empty databases with a backup. "-" stands for standard input. First stop all processes of Herald.

The system that was lost has gone on after the backup. So the restore sends no mail that may have been sent already,
and ends what may have been ended: all logins with their tokens, mailed codes, personal access tokens, and keys of
machine users and applications. With --keep-keys these tokens and keys are kept: only use it if none was removed since
the backup. Passwords, roles and client secrets are those of the backup. The stream of events is removed too: the
services make it anew from the databases.

The databases are on the server HERALD_DATABASE_URL, and the stream on HERALD_NATS_URL, or in HERALD_DATA_DIR.
"herald backup" says which master key is needed; with --passphrase-file it is taken from the backup.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			own, err := load()
			if err != nil {
				return err
			}
			r, in, err := openBackup(c, args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			keys, err := own.keysFor(r.Header, passphrase)
			if err == nil && passphrase != "" {
				err = keepKeys(keys, keyPath(own.run))
			}
			if err != nil {
				return err
			}
			servers, err := start.of(c.Context(), own, keys)
			if err != nil {
				return err
			}
			report, err := fill(c.Context(), servers, keys, r, o)
			if err = errors.Join(err, servers.Stop()); err != nil {
				return err
			}
			return writeReport(c.OutOrStdout(), r.Header, report)
		},
	}
	c.Flags().BoolVar(&o.Replace, "replace", false, "remove what is in the databases")
	c.Flags().BoolVar(&o.KeepKeys, "keep-keys", false, keepKeysHelp)
	c.Flags().StringVar(&passphrase, "passphrase-file", "", passphraseHelp)
	return c
}

// openBackup reads the header of a backup in a file, or in the standard input for "-".
func openBackup(c *cobra.Command, name string) (_ *backup.Reader, in io.ReadCloser, err error) {
	in = io.NopCloser(c.InOrStdin())
	if name != "-" {
		if in, err = os.Open(name); err != nil {
			return nil, nil, err
		}
	}
	r, err := backup.Open(in)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), in.Close())
	}
	return r, in, nil
}

// keysFor returns the master keys for a backup: those in it with a passphrase, else those of the settings.
func (c *config) keysFor(head backup.Header, passphraseFile string) (secret.Keys, error) {
	if passphraseFile != "" {
		passphrase, err := readPassphrase(passphraseFile)
		if err != nil {
			return secret.Keys{}, err
		}
		return head.Wrapped.Open(passphrase)
	}
	r, err := c.ring()
	if errors.Is(err, os.ErrNotExist) {
		return secret.Keys{}, fmt.Errorf("%w: the backup needs the master key %s", err,
			strings.Join(head.MasterKeys, ", "))
	}
	if err != nil {
		return secret.Keys{}, err
	}
	known := ids(r.keys.IDs())
	for _, id := range head.MasterKeys {
		if !strings.Contains(known, id) {
			return secret.Keys{}, fmt.Errorf("the backup needs the master key %s, and %s has %s", id, cmp.Or(r.file,
				"HERALD_MASTER_KEY"), known)
		}
	}
	return r.keys, nil
}

// keepKeys writes the keys of a backup into the file of the settings, unless they are there.
func keepKeys(keys secret.Keys, file string) error {
	held, err := os.ReadFile(file)
	switch {
	case err == nil && string(held) == keys.Text().Reveal():
		return nil
	case err == nil:
		return fmt.Errorf("%s has another master key than the backup: move it away first", file)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o711); err != nil {
		return err
	}
	return secret.ReplaceFile(file, keys.Text().Reveal(), 0o600)
}

// fill restores a backup into the databases of a server.
func fill(
	ctx context.Context, to services.Servers, keys secret.Keys, from *backup.Reader, o backup.Options,
) (report backup.Report, err error) {
	err = withTargets(ctx, to, keys, func(ctx context.Context, targets []backup.Target, js jetstream.JetStream) error {
		report, err = backup.Restore(ctx, from, targets, js, o)
		return err
	})
	return report, err
}

// withTargets calls a function with the databases of all services, and with NATS.
func withTargets(
	ctx context.Context, s services.Servers, keys secret.Keys,
	work func(context.Context, []backup.Target, jetstream.JetStream) error,
) error {
	var targets []backup.Target
	for _, name := range services.Names() {
		db, err := openRestored(ctx, s.Database, keys, name)
		if err != nil {
			return err
		}
		defer db.Close()
		targets = append(targets, services.Target(name, db))
	}
	return withStreams(ctx, s.NATS, slog.New(slog.DiscardHandler),
		func(ctx context.Context, js jetstream.JetStream) error { return work(ctx, targets, js) })
}

// of returns the servers of the settings. It starts those that the settings do not name.
func (s StartServers) of(ctx context.Context, c *config, keys secret.Keys) (services.Servers, error) {
	switch {
	case !c.run.Database.Empty() && c.run.NATS != "":
		return services.Servers{
			Database: c.run.Database, Stop: func() error { return nil },
			NATS: bus.Address{URL: c.run.NATS, CAFile: c.trust.CAFile}.As(bus.Operator, keys),
		}, nil
	case s == nil && c.run.Database.Empty():
		return services.Servers{}, errors.New("HERALD_DATABASE_URL is not set; such as postgres://postgres:5432")
	case s == nil:
		return services.Servers{}, errors.New("HERALD_NATS_URL is not set; such as nats://nats:4222")
	}
	return s(ctx, c.run, c.trust, keys)
}

// openRestored opens the database of a service. If the URL has a user, the database is made if it is not there.
func openRestored(ctx context.Context, server secret.Text, keys secret.Keys, name string) (*pgxpool.Pool, error) {
	u, err := url.Parse(server.Reveal())
	if err != nil {
		return nil, errors.New("HERALD_DATABASE_URL is no URL") // the error would contain the password
	}
	var own secret.Text
	if u.User == nil {
		own, err = postgres.Own(server, keys, name)
	} else {
		own, err = postgres.Provision(ctx, server, keys, name)
	}
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, own, noop.NewTracerProvider())
}

func writeReport(out io.Writer, head backup.Header, report backup.Report) error {
	fmt.Fprintf(out, "restored %d rows, as they were at %s; changes after that are lost\n", report.End.Rows(),
		head.Taken.Format(time.RFC3339))
	return writeChanges(out, report.Changed)
}

func writeChanges(out io.Writer, changes []backup.Change) error {
	for _, change := range changes {
		if change.Rows > 0 {
			fmt.Fprintf(out, "%s: %d %s\n", change.Service, change.Rows, change.What)
		}
	}
	_, err := fmt.Fprintln(out, "start Herald now; subscribers get the events of the last 7 days again")
	return err
}

func recovered(start StartServers) *cobra.Command {
	var o backup.Options
	c := &cobra.Command{
		Use:   "recovered",
		Short: "Make a system consistent whose Postgres was brought back to an earlier moment",
		Example: `  herald recovered
  herald recovered --keep-keys`,
		Long: `Make a system consistent whose Postgres was brought back to an earlier moment, with an archive of its
write-ahead log or a snapshot of its disk. Type it after that and before Herald starts again: stop all processes of
Herald.

It does what "herald restore" does after the rows are there: it removes the stream of events, which has events that are
lost; it gives up the mails that waited; and it ends all logins with their tokens, mailed codes, personal access tokens,
and keys of machine users and applications. With --keep-keys these tokens and keys are kept: only use it if none was
removed after that moment.

The databases are on the server HERALD_DATABASE_URL, and the stream on HERALD_NATS_URL, or in HERALD_DATA_DIR.`,
		Args: cobra.NoArgs,
		RunE: withRing(func(c *cobra.Command, r *ring, _ []string) error {
			servers, err := start.of(c.Context(), r.config, r.keys)
			if err != nil {
				return err
			}
			var changes []backup.Change
			err = withTargets(c.Context(), servers, r.keys,
				func(ctx context.Context, targets []backup.Target, js jetstream.JetStream) (err error) {
					changes, err = backup.Recovered(ctx, targets, js, o)
					return err
				})
			if err = errors.Join(err, servers.Stop()); err != nil {
				return err
			}
			return writeChanges(c.OutOrStdout(), changes)
		}),
	}
	c.Flags().BoolVar(&o.KeepKeys, "keep-keys", false, keepKeysHelp)
	return c
}
