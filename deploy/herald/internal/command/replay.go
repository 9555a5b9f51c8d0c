package command

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/shared/event"
)

func replay() *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use:   "replay SERVICE",
		Short: "Publish a service's events again, after the stream was lost",
		Example: `  herald replay users
  herald replay users --from 1200`,
		Long: `Publish the events of a service again, from a position on. The running service's relay does the work.

The settings are those of "herald run", or of the service. The database is on the server HERALD_DATABASE_URL, or on
that of the "herald run" that runs in HERALD_DATA_DIR.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(services.Names(), args[0]) {
				return services.Unknown(args[0])
			}
			r, err := newRing()
			if err != nil {
				return err
			}
			pool, err := r.events(c.Context(), args[0])
			if err != nil {
				return err
			}
			defer pool.Close()
			n, err := event.Replay(c.Context(), pool, from)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%d events will be published again\n", n)
			return nil
		},
	}
	c.Flags().Int64Var(&from, "from", 0, "position of the first event")
	return c
}

// events opens the database with a service's events: that of the setting, or the service's own on the same server.
func (r *ring) events(ctx context.Context, service string) (*pgxpool.Pool, error) {
	var errs []error
	for _, own := range []bool{true, false} {
		db, err := r.open(ctx, service, own)
		if err != nil {
			return nil, err
		}
		var has bool
		if err = db.QueryRow(ctx, `select to_regclass('outbox') is not null`).Scan(&has); has {
			return db, nil
		}
		db.Close()
		if err == nil {
			err = fmt.Errorf("the database %s has no table outbox", db.Config().ConnConfig.Database)
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no events of the service %s are at HERALD_DATABASE_URL: %w", service, errors.Join(errs...))
}
