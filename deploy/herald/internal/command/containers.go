package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/shared/bus"
	"herald/shared/secret"
)

func secrets() *cobra.Command {
	return &cobra.Command{
		Use:     "secrets DIR",
		Example: "  herald secrets /run/herald",
		Short:   "Write what the containers of a compose project share; secrets that are there are kept",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return WriteSecrets(args[0])
		},
	}
}

func databases() *cobra.Command {
	return &cobra.Command{
		Use:     "databases",
		Example: "  HERALD_DATABASE_URL=postgres://postgres:password@postgres:5432 herald databases",
		Short:   "Make the role and the database of every service that has none yet",
		Long: "Make the role and the database of every service that has none yet, on the server at " +
			"HERALD_DATABASE_URL, as a role that may do so.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			own, keys, err := loadKeys()
			if err != nil {
				return err
			}
			return makeDatabases(c.Context(), own.single.Database, keys, services.Names())
		},
	}
}

func subscriberPassword() *cobra.Command {
	return &cobra.Command{
		Use:     "subscriber-password",
		Example: "  herald subscriber-password",
		Short:   "Print the password of the NATS user " + bus.Subscriber + ", who may watch events and nothing else",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, keys, err := loadKeys()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), bus.Password(keys, bus.Subscriber).Reveal())
			return err
		},
	}
}

// loadKeys reads the settings and the keys of a container.
func loadKeys() (*config, secret.Keys, error) {
	own, err := load()
	if err != nil {
		return nil, secret.Keys{}, err
	}
	keys, err := masterKeys(own.single.MasterKey)
	return own, keys, err
}
