package command

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"herald/services/auth"
)

func keysSigning() *cobra.Command {
	var own bool
	with := func(work func(context.Context, auth.SigningKeys, []string) error) func(*cobra.Command, []string) error {
		return withRing(func(c *cobra.Command, r *ring, args []string) error {
			db, err := r.open(c.Context(), "auth", own)
			if err != nil {
				return err
			}
			defer db.Close()
			return work(c.Context(), auth.NewSigningKeys(db), args)
		})
	}
	c := &cobra.Command{
		Use:     "signing",
		Example: "  herald keys signing",
		Short:   "List the keys that sign tokens; they change by themselves",
		Long: "List the keys that sign tokens. They change by themselves, every HERALD_SIGNING_KEY_DAYS days. " +
			"Running processes learn of the commands below within seconds.",
		Args: cobra.NoArgs,
	}
	c.RunE = with(func(ctx context.Context, keys auth.SigningKeys, _ []string) error {
		return listSigningKeys(ctx, keys, c.OutOrStdout())
	})
	c.PersistentFlags().BoolVar(&own, "own", false, "HERALD_DATABASE_URL is the database of the service auth")
	c.AddCommand(&cobra.Command{
		Use:     "use KEY",
		Example: "  herald keys signing use 3f1c2a",
		Short:   "Make an announced key sign now; what the one before it signed stays valid",
		Args:    cobra.ExactArgs(1),
		RunE: with(func(ctx context.Context, keys auth.SigningKeys, args []string) error {
			return keys.Use(ctx, args[0])
		}),
	}, &cobra.Command{
		Use:     "remove KEY",
		Example: "  herald keys signing remove 3f1c2a",
		Short:   "Remove a key, such as a stolen one: what it signed is refused, and the announced one signs",
		Args:    cobra.ExactArgs(1),
		RunE: with(func(ctx context.Context, keys auth.SigningKeys, args []string) error {
			return keys.Remove(ctx, args[0])
		}),
	})
	return c
}

func listSigningKeys(ctx context.Context, keys auth.SigningKeys, out io.Writer) error {
	list, err := keys.List(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, k := range list {
		rows = append(rows, []string{k.ID, k.Algorithm, k.State, k.SignsAt.UTC().Format(time.RFC3339)})
	}
	return writeTable(out, []string{"KEY", "ALGORITHM", "STATE", "SIGNS FROM"}, rows)
}
