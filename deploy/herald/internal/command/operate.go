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
		Example: "  HERALD_ADMIN_PAT_FILE=/var/lib/herald/admin.pat herald admin-pat",
		Short:   "Print the administrator's personal access token of the first start",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			file := os.Getenv("HERALD_ADMIN_PAT_FILE")
			if file == "" {
				return errors.New("HERALD_ADMIN_PAT_FILE is not set, where the first start wrote it")
			}
			token, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("the first start left no token: %w", err)
			}
			_, err = c.OutOrStdout().Write(token)
			return err
		},
	}
}
