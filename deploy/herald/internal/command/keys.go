package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/deploy/herald/internal/services"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

func keys() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Change the master key, or the keys that sign tokens, while the system runs",
		Example: `  herald keys add           # add a new key at the end of the file; then restart all processes
  herald keys use KEY       # make it the first key; then restart all processes
  herald keys rotate        # seal all stored secrets with the first key
  herald keys remove        # remove all keys but the first; then restart all processes`,
		Long: `Change the master key while the system runs. The examples below are its four steps.

The keys that sign tokens are others: see herald keys signing.

Processes can be restarted one after another. If all are restarted at once, as with "herald run", one
restart after both "add" and "use" is enough.

The keys are the lines of the file HERALD_MASTER_KEY_FILE, or of master.key in HERALD_DATA_DIR. The
databases are on the server HERALD_DATABASE_URL, or on that of the "herald run" that runs in
HERALD_DATA_DIR. If HERALD_DATABASE_URL is the database of one service, give "status" and "rotate" the
name of the service.`,
		Args: cobra.NoArgs, // a mistyped command counts as an argument
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keysAdd(), keysUse(), keysStatus(), keysRotate(), keysRemove(), keysSigning())
	return c
}

func keysAdd() *cobra.Command {
	return &cobra.Command{
		Use:     "add",
		Example: "  herald keys add",
		Short:   "Add a new key at the end of the file, and print its id",
		Args:    cobra.NoArgs,
		RunE: withRing(func(c *cobra.Command, r *ring, _ []string) error {
			keys, err := secret.ParseKeys(r.keys.Text().Reveal() + secret.NewKeyText())
			if err != nil {
				return err
			}
			if err := r.write(keys); err != nil {
				return err
			}
			ids := keys.IDs()
			fmt.Fprintln(c.ErrOrStderr(), "restart all processes, then type: herald keys use KEY")
			_, err = fmt.Fprintln(c.OutOrStdout(), ids[len(ids)-1])
			return err
		}),
	}
}

func keysUse() *cobra.Command {
	return &cobra.Command{
		Use:     "use KEY",
		Example: "  herald keys use 3f1c2a",
		Short:   "Make a key the first one, with which all new secrets are sealed",
		Args:    cobra.ExactArgs(1),
		RunE: withRing(func(c *cobra.Command, r *ring, args []string) error {
			keys, known := r.keys.Front(args[0])
			if !known {
				return fmt.Errorf("there is no master key %s in %s; `herald keys status` lists them", args[0], r.file)
			}
			if err := r.write(keys); err != nil {
				return err
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), "restart all processes, then type: herald keys rotate")
			return err
		}),
	}
}

func keysRemove() *cobra.Command {
	return &cobra.Command{
		Use:     "remove",
		Example: "  herald keys remove",
		Short:   "Remove all keys but the first from the file, if nothing needs them",
		Args:    cobra.NoArgs, // not for single services, because another may need the keys
		RunE: withRing(func(c *cobra.Command, r *ring, _ []string) error {
			u, err := r.usage(c.Context(), nil)
			if err != nil {
				return err
			}
			if err := u.needed(r.keys); err != nil {
				return err
			}
			if err := r.write(r.keys.Each()[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%d keys are removed, %s is left; restart all processes\n",
				len(r.keys.IDs())-1, r.keys.IDs()[0])
			return err
		}),
	}
}

// ring is the master keys, with the settings that say where they and the databases are.
type ring struct {
	services.RunConfig
	config *config
	keys   secret.Keys
	// file is empty if the keys are in the environment.
	file string
}

// withRing returns the function of a command that needs the keys.
func withRing(run func(*cobra.Command, *ring, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		r, err := newRing()
		if err != nil {
			return err
		}
		return run(c, r, args)
	}
}

// newRing reads the settings and the keys.
func newRing() (*ring, error) {
	own, err := load()
	if err != nil {
		return nil, err
	}
	return own.ring()
}

func (c *config) ring() (_ *ring, err error) {
	r := ring{RunConfig: c.run, config: c}
	text, source := r.MasterKey.Reveal(), keySource()
	if r.file = os.Getenv(keyFile); r.MasterKey.Empty() && r.file == "" {
		r.file = keyPath(r.RunConfig)
		source = r.file
		held, err := os.ReadFile(r.file)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("HERALD_MASTER_KEY_FILE is not set, and no `herald run` has been started in "+
				"HERALD_DATA_DIR: %w", err)
		}
		if err != nil {
			return nil, err
		}
		text = string(held)
	}
	if r.keys, err = secret.ParseKeys(text); err != nil {
		return nil, fmt.Errorf("%s: %w; %s", source, err, restoreKey)
	}
	if !r.keys.Holds() {
		return nil, fmt.Errorf("%s %s", source, needsMaster)
	}
	return &r, nil
}

// keyPath returns the path of the file with the keys.
func keyPath(c services.RunConfig) string {
	return cmp.Or(os.Getenv(keyFile), filepath.Join(c.DataDir, "master.key"))
}

// write replaces the file of the keys and keeps its mode.
func (r *ring) write(keys secret.Keys) error {
	if r.file == "" {
		return errors.New("the keys are in HERALD_MASTER_KEY: change them there, one on each line, the one to use " +
			"first")
	}
	info, err := os.Stat(r.file)
	if err != nil {
		return err
	}
	return secret.ReplaceFile(r.file, keys.Text().Reveal(), info.Mode().Perm())
}

// each calls a function with the database of every service that seals secrets, or of the named
// services.
func (r *ring) each(
	ctx context.Context, named []string, work func(service string, db *pgxpool.Pool, sealed []secret.Column) error,
) error {
	sealing := services.Sealed()
	chosen := named
	if len(chosen) == 0 {
		for _, name := range services.Names() {
			if sealing[name] != nil {
				chosen = append(chosen, name)
			}
		}
	}
	for _, name := range chosen {
		if sealing[name] == nil {
			return fmt.Errorf("there is no service %s that seals secrets", name)
		}
		db, err := r.open(ctx, name, len(named) > 0)
		if err != nil {
			return err
		}
		err = work(name, db, sealing[name])
		db.Close()
		if err != nil {
			return fmt.Errorf("service %s: %w", name, err)
		}
	}
	return nil
}

// open opens a service's database. own reports that the setting can be its URL.
func (r *ring) open(ctx context.Context, service string, own bool) (*pgxpool.Pool, error) {
	url, err := r.database(service, own)
	if err != nil {
		return nil, err
	}
	return postgres.OpenAs(ctx, url, r.keys, service, postgres.Observers{Traces: noop.NewTracerProvider()})
}

// database returns the URL of a service's database.
func (r *ring) database(service string, own bool) (secret.Text, error) {
	server := r.Database
	if server.Empty() {
		address, err := local.Address(filepath.Join(r.DataDir, "postgres"))
		if err != nil {
			return secret.Text{}, fmt.Errorf("HERALD_DATABASE_URL is not set, and no `herald run` is running in "+
				"HERALD_DATA_DIR: %w", err)
		}
		server = secret.NewText(address)
	} else if own {
		return postgres.Own(server, r.keys, service)
	}
	name := postgres.Name(service)
	return postgres.WithDatabase(server, name, name, postgres.Password(r.keys, service))
}

// ids returns the ids of keys as a text.
func ids(keys []secret.KeyID) string {
	var texts []string
	for _, id := range keys {
		texts = append(texts, id.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
