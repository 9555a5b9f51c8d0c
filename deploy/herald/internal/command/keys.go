package command

import (
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

	"herald/deploy/herald/internal/allinone"
	"herald/shared/boot"
	"herald/shared/durable"
	"herald/shared/postgres"
	"herald/shared/postgres/local"
	"herald/shared/secret"
)

func keys() *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Change the master key while the system runs",
		Long: `Change the master key while the system runs.

  herald keys add           add a new key below the others; restart all processes
  herald keys use KEY       put it before the others; restart all processes
  herald keys rotate        seal every stored secret anew with it
  herald keys remove        remove the keys that nothing needs any more; restart all processes

Processes may be restarted one after another. If they are restarted all at once, as "herald run" is,
"add" and "use" share a restart.

The keys are the lines of the file HERALD_MASTER_KEY_FILE, or those of HERALD_DATA_DIR. The databases
are on the server HERALD_DATABASE_URL; without that setting, on the one of the "herald run" whose files
are in HERALD_DATA_DIR. If HERALD_DATABASE_URL is the own database of one service, name the service.`,
		Args: cobra.NoArgs, // a mistyped command counts as an argument
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(keysAdd(), keysUse(), keysStatus(), keysRotate(), keysRemove())
	return c
}

func keysAdd() *cobra.Command {
	return &cobra.Command{
		Use:   "add",
		Short: "Add a new key below the others and print its id; nothing is sealed with it yet",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := newRing()
			if err != nil {
				return err
			}
			keys, err := secret.ParseKeys(r.keys.Text().Reveal() + secret.NewKeyText())
			if err != nil {
				return err
			}
			if err := r.write(keys); err != nil {
				return err
			}
			ids := keys.IDs()
			fmt.Fprintln(c.ErrOrStderr(), "restart all processes, then use it")
			_, err = fmt.Fprintln(c.OutOrStdout(), ids[len(ids)-1])
			return err
		},
	}
}

func keysUse() *cobra.Command {
	return &cobra.Command{
		Use:   "use KEY",
		Short: "Put a key before the others, so that everything new is sealed with it",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := newRing()
			if err != nil {
				return err
			}
			keys, known := r.keys.Front(args[0])
			if !known {
				return fmt.Errorf("there is no master key %s in %s; `herald keys status` lists them", args[0], r.file)
			}
			if err := r.write(keys); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), "restart all processes, then type: herald keys rotate")
			return err
		},
	}
}

func keysRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove",
		Short: "Remove every key but the first from the file, if nothing needs them",
		Args:  cobra.NoArgs, // what one service does not need another may
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := newRing()
			if err != nil {
				return err
			}
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
		},
	}
}

// ring is the master keys and where they and the databases are.
type ring struct {
	allinone.Config
	keys secret.Keys
	// file is empty if the keys are in the environment.
	file string
}

// newRing reads the settings, which may be those of any process, and the keys.
func newRing() (*ring, error) {
	var r ring
	services := allinone.NewServices()
	configs := append(services.Configs(), &r.Config, &single{}, &boot.Observe{})
	if err := boot.Load(os.Environ(), configs...); err != nil {
		return nil, err
	}
	text, source := r.MasterKey.Reveal(), "HERALD_MASTER_KEY"
	if r.file = os.Getenv("HERALD_MASTER_KEY_FILE"); r.MasterKey.Empty() && r.file == "" {
		r.file = filepath.Join(r.DataDir, "master.key")
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
	var err error
	if r.keys, err = secret.ParseKeys(text); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return &r, nil
}

// write replaces the file of the keys, which keeps its mode.
func (r *ring) write(keys secret.Keys) error {
	if r.file == "" {
		return errors.New("the keys are in HERALD_MASTER_KEY: change them there, one a line, the one to use first")
	}
	info, err := os.Stat(r.file)
	if err != nil {
		return err
	}
	return durable.Replace(r.file, keys.Text().Reveal(), info.Mode().Perm())
}

// each calls a function with the database of every service that seals secrets, or of those named.
func (r *ring) each(
	ctx context.Context, named []string, work func(service string, db *pgxpool.Pool, sealed []secret.Column) error,
) error {
	sealing := allinone.Sealed()
	services := named
	if len(services) == 0 {
		for _, name := range allinone.Names() {
			if sealing[name] != nil {
				services = append(services, name)
			}
		}
	}
	for _, name := range services {
		if sealing[name] == nil {
			return fmt.Errorf("there is no service %s that seals secrets", name)
		}
		url, err := r.database(name, len(named) > 0)
		if err != nil {
			return err
		}
		db, err := postgres.OpenAs(ctx, url, r.keys, name, noop.NewTracerProvider())
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

// database returns the URL of a service's database. own says that the setting may be that URL.
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

// ids writes the ids of keys.
func ids(keys []secret.KeyID) string {
	var texts []string
	for _, id := range keys {
		texts = append(texts, id.String())
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
