package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/shared/boot"
	"herald/shared/postgres"
	"herald/shared/secret"
)

func keysStatus() *cobra.Command {
	return &cobra.Command{
		Use:     "status [SERVICE ...]",
		Example: "  herald keys status",
		Short:   "List the keys, and the secrets that need each of them",
		RunE: withRing(func(c *cobra.Command, r *ring, args []string) error {
			u, err := r.usage(c.Context(), args)
			if err != nil {
				return err
			}
			return u.write(c.OutOrStdout(), r.keys)
		}),
	}
}

func keysRotate() *cobra.Command {
	return &cobra.Command{
		Use:     "rotate [SERVICE ...]",
		Example: "  herald keys rotate\n  herald keys rotate users",
		Short:   "Seal all stored secrets with the first key",
		Long: "Seal with the first key all stored secrets that another key has sealed. It can be stopped and " +
			"repeated at any time. It does not overwrite what a service changes at the same time.",
		RunE: withRing(func(c *cobra.Command, r *ring, args []string) error {
			u, err := r.usage(c.Context(), args)
			if err != nil {
				return err
			}
			if err := u.restarted(r.keys); err != nil {
				return err
			}
			var errs []error // continue with the other services after an error
			err = r.each(c.Context(), args, func(service string, db *pgxpool.Pool, columns []secret.Column) error {
				p := progress{c.ErrOrStderr(), service, 0, u.left(service, r.keys)}
				for _, column := range columns {
					errs = append(errs, services.Reseal(c.Context(), db, r.keys, column, p.add))
				}
				p.end(c.OutOrStdout())
				return nil
			})
			return errors.Join(append(errs, err)...)
		}),
	}
}

// progress shows the progress of a service on a terminal.
type progress struct {
	w           io.Writer
	service     string
	done, total int64
}

func (p *progress) add(n int64) {
	p.done += n
	if boot.Terminal(p.w) > 0 {
		fmt.Fprintf(p.w, "\r%s: %d of %d", p.service, p.done, max(p.done, p.total))
	}
}

func (p *progress) end(out io.Writer) {
	if p.done > 0 && boot.Terminal(p.w) > 0 {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	fmt.Fprintf(out, "%s: %d secrets sealed anew\n", p.service, p.done)
}

// use is the number of secrets of a column that a key has sealed.
type use struct {
	service string
	column  secret.Column
	key     secret.KeyID
	secrets int64
}

// usage is all secrets by their keys, and the keys of the running processes.
type usage struct {
	uses []use
	// holders are the ids of the keys of each running process, by service.
	holders map[string][][]string
}

func compareIDs(a, b secret.KeyID) int { return bytes.Compare(a[:], b[:]) }

func (r *ring) usage(ctx context.Context, named []string) (usage, error) {
	u := usage{holders: map[string][][]string{}}
	err := r.each(ctx, named, func(service string, db *pgxpool.Pool, columns []secret.Column) (err error) {
		for _, column := range columns {
			counts, err := services.CountSealed(ctx, db, column)
			if err != nil {
				return err
			}
			for _, id := range slices.SortedFunc(maps.Keys(counts), compareIDs) {
				u.uses = append(u.uses, use{service, column, id, counts[id]})
			}
		}
		u.holders[service], err = postgres.Holders(ctx, db)
		return err
	})
	return u, err
}

// left returns the number of secrets of a service that other keys than the first have sealed.
func (u usage) left(service string, keys secret.Keys) (n int64) {
	for _, use := range u.uses {
		if use.service == service && use.key != keys.IDs()[0] {
			n += use.secrets
		}
	}
	return n
}

// restarted returns an error if the first key of a running process is another one, because that
// process would seal with it, or could not open what the first one has sealed.
func (u usage) restarted(keys secret.Keys) error {
	for service, all := range u.holders {
		for _, held := range all {
			if first := keys.IDs()[0].String(); held[0] != first {
				return fmt.Errorf("a running process of %s uses the master key %s, not %s: restart all processes first",
					service, held[0], first)
			}
		}
	}
	return nil
}

// needed returns an error if a secret or a running process needs another key than the first.
func (u usage) needed(keys secret.Keys) error {
	if err := u.restarted(keys); err != nil {
		return err
	}
	for _, use := range u.uses {
		if use.key != keys.IDs()[0] {
			return fmt.Errorf("the master key %s is still needed by %d secrets in %s of %s; type: herald keys rotate",
				use.key, use.secrets, use.column, use.service)
		}
	}
	return nil
}

// write writes the keys and their uses, and then the next step. It returns an error if a key is
// missing.
func (u usage) write(w io.Writer, keys secret.Keys) error {
	var rows [][]string
	known := keys.IDs()
	for i, id := range known {
		state := "in use"
		if i > 0 {
			state = "kept"
		}
		rows = append(rows, u.of(id, state)...)
	}
	var missing []secret.KeyID
	for _, use := range u.uses {
		if !slices.Contains(known, use.key) && !slices.Contains(missing, use.key) {
			missing = append(missing, use.key)
			rows = append(rows, u.of(use.key, "missing")...)
		}
	}
	if err := writeTable(w, []string{"KEY", "STATE", "SECRETS", "SERVICE", "COLUMN"}, rows); err != nil {
		return err
	}
	if missing != nil {
		return fmt.Errorf("the master keys %s are missing: add them again at the end of the file", ids(missing))
	}
	next := u.needed(keys)
	if next == nil && len(known) > 1 {
		next = fmt.Errorf("nothing needs any key but the first. To change to the key %s, type: herald keys use %[1]s; "+
			"after a change, to remove the old key, type: herald keys remove", known[len(known)-1])
	}
	if next != nil {
		_, err := fmt.Fprintln(w, next)
		return err
	}
	return nil
}

// of returns a row for each use of a key, or one that says that there is none.
func (u usage) of(id secret.KeyID, state string) (rows [][]string) {
	for _, use := range u.uses {
		if use.key == id {
			rows = append(rows, []string{id.String(), state, fmt.Sprint(use.secrets), use.service,
				fmt.Sprint(use.column)})
		}
	}
	if rows == nil {
		rows = [][]string{{id.String(), state, "0"}}
	}
	return rows
}
