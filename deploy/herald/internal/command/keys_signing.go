package command

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace/noop"

	"herald/services/auth"
	"herald/shared/postgres"
)

func keysSigning() *cobra.Command {
	var own bool
	c := &cobra.Command{
		Use:   "signing",
		Short: "List the keys that sign tokens; they change by themselves",
		Long: "List the keys that sign tokens. They change by themselves, every HERALD_SIGNING_KEY_DAYS days. " +
			"Running processes learn of the commands below within seconds.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withSigningKeys(c.Context(), own, func(keys auth.SigningKeys) error {
				return listSigningKeys(c.Context(), keys, c.OutOrStdout())
			})
		},
	}
	c.PersistentFlags().BoolVar(&own, "own", false, "HERALD_DATABASE_URL is the database of the service auth")
	c.AddCommand(&cobra.Command{
		Use:   "use KEY",
		Short: "Make an announced key sign now; what the one before it signed stays valid",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withSigningKeys(c.Context(), own, func(keys auth.SigningKeys) error {
				return keys.Use(c.Context(), args[0])
			})
		},
	}, &cobra.Command{
		Use:   "remove KEY",
		Short: "Remove a key, such as a stolen one: what it signed is refused from now on, and the announced one signs",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withSigningKeys(c.Context(), own, func(keys auth.SigningKeys) error {
				return keys.Remove(c.Context(), args[0])
			})
		},
	})
	return c
}

func withSigningKeys(ctx context.Context, own bool, work func(auth.SigningKeys) error) error {
	r, err := newRing()
	if err != nil {
		return err
	}
	url, err := r.database("auth", own)
	if err != nil {
		return err
	}
	db, err := postgres.OpenAs(ctx, url, r.keys, "auth", postgres.Observers{Traces: noop.NewTracerProvider()})
	if err != nil {
		return err
	}
	defer db.Close()
	return work(auth.NewSigningKeys(db))
}

func listSigningKeys(ctx context.Context, keys auth.SigningKeys, out io.Writer) error {
	list, err := keys.List(ctx)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tALGORITHM\tSTATE\tSIGNS FROM")
	for _, k := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", k.ID, k.Algorithm, k.State, k.SignsAt.UTC().Format(time.RFC3339))
	}
	return t.Flush()
}
