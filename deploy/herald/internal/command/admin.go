package command

import (
	"time"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/services/users"
)

func admin() *cobra.Command {
	c := &cobra.Command{
		Use:     "admin",
		Example: "  herald admin reset",
		Short:   "Let an operator in again whom nobody lets in",
		Args:    cobra.NoArgs, // a mistyped command counts as an argument
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(adminReset())
	return c
}

func adminReset() *cobra.Command {
	return &cobra.Command{
		Use:     "reset",
		Example: "  herald admin reset",
		Short:   "Make another administrator with a one-time password",
		Long: `Make another administrator with a one-time password, for the one who is locked out.

No other account changes: log in as the new administrator, and unlock the old one or give it another password. Then
remove the new one. The history shows what was made.

The database is on the server HERALD_DATABASE_URL, or on that of the "herald run" that runs in HERALD_DATA_DIR.`,
		Args: cobra.NoArgs,
		RunE: withRing(func(c *cobra.Command, r *ring, _ []string) error {
			public, err := r.config.services.PublicURL(r.PublicURL)
			if err != nil {
				return err
			}
			db, err := r.events(c.Context(), "users")
			if err != nil {
				return err
			}
			defer db.Close()
			made, err := users.AnotherAdministrator(c.Context(), db, time.Now, public.Hostname())
			if err != nil {
				return err
			}
			services.Announce(c.OutOrStdout(), made)
			return nil
		}),
	}
}
