package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/shared/boot"
)

func migrations() *cobra.Command {
	var plan bool
	c := &cobra.Command{
		Use:     "migrate",
		Short:   "Migrate the databases to this version, or say what that would do",
		Example: "  herald migrate --plan",
		Long: `Migrate the databases to this version, as each service does when it starts. With --plan, only list the
migrations.

The services of the version before can go on meanwhile. A migration that cannot have the lock of a table within two
seconds lets the requests go first, and tries again.

The databases are on the server HERALD_DATABASE_URL, or on that of the "herald run" that runs in HERALD_DATA_DIR.`,
		Args: cobra.NoArgs,
		RunE: withRing(func(c *cobra.Command, r *ring, _ []string) error {
			for _, name := range services.Names() {
				db, err := r.open(c.Context(), name, false)
				if err != nil {
					return err
				}
				defer db.Close()
				own := services.Target(name, db).Migrations
				pending, err := boot.Pending(c.Context(), db, own)
				if err == nil && !plan {
					err = boot.Migrate(c.Context(), db, own)
				}
				if err != nil {
					return fmt.Errorf("database of %s: %w", name, err)
				}
				list := strings.Join(pending, ", ")
				if list == "" {
					list = "nothing to migrate"
				}
				if _, err := fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", name, list); err != nil {
					return err
				}
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&plan, "plan", false, "list the migrations, and change nothing")
	return c
}
