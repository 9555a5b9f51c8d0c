package command

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"herald/shared/boot"
)

// Settings lists the settings of all commands.
func Settings() ([]boot.Setting, error) {
	return boot.Settings(newConfig().structs()...)
}

func settings() *cobra.Command {
	return &cobra.Command{
		Use:     "settings",
		Example: "  herald settings",
		Short:   "List the settings, their defaults and what they mean",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			known, err := Settings()
			if err != nil {
				return err
			}
			for _, s := range known {
				fmt.Fprintf(c.OutOrStdout(), "%s\n", s.Name)
				if s.Default != "" {
					fmt.Fprintf(c.OutOrStdout(), "    default: %s\n", s.Default)
				}
				if s.Secret {
					fmt.Fprintf(c.OutOrStdout(), "    or %s_FILE: a file that holds it\n", s.Name)
				}
				fmt.Fprintf(c.OutOrStdout(), "    %s\n", s.Help)
			}
			return nil
		},
	}
}

func adminPAT() *cobra.Command {
	return &cobra.Command{
		Use:     "admin-pat",
		Example: "  herald admin-pat\n  HERALD_ADMIN_PAT_FILE=/var/lib/herald/admin.pat herald admin-pat",
		Short:   "Print the administrator's personal access token of the first start",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			own, err := load()
			if err != nil {
				return err
			}
			token, err := os.ReadFile(own.adminFile())
			if errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("the first start left no token: %w; HERALD_DATA_DIR or HERALD_ADMIN_PAT_FILE says "+
					"where to look", err)
			}
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(token)
			return err
		},
	}
}
