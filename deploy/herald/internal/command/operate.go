package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/allinone"
	"herald/shared/boot"
	"herald/shared/event"
	"herald/shared/postgres"
)

// Settings lists the settings of all commands.
func Settings() ([]boot.Setting, error) {
	return boot.Settings(append(allinone.NewServices().Configs(), &allinone.Config{}, &single{}, &boot.Observe{})...)
}

func settings() *cobra.Command {
	return &cobra.Command{
		Use:   "settings",
		Short: "List the settings, their defaults and what they mean",
		Args:  cobra.NoArgs,
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

func replay() *cobra.Command {
	var from int64
	c := &cobra.Command{
		Use:   "replay SERVICE",
		Short: "Publish a service's events again, after the stream was lost",
		Long: "Publish the events of a service, whose database is at HERALD_DATABASE_URL, again, from a position " +
			"on. The running service's relay does the work.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			own, keys, err := loadKeys()
			if err != nil {
				return err
			}
			database, err := postgres.Own(own.Database, keys, args[0])
			if err != nil {
				return err
			}
			g, err := boot.NewTelemetry(c.Context(), boot.Observe{}, "replay", c.ErrOrStderr())
			if err != nil {
				return err
			}
			pool, err := postgres.OpenAs(c.Context(), database, keys, args[0], g.Traces)
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

const healthLimit = 2 * time.Second

func health() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Ask the process at HERALD_OPS_LISTEN whether it is ready; exit code 0 if so",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			address := os.Getenv("HERALD_OPS_LISTEN")
			if address == "" {
				return errors.New("HERALD_OPS_LISTEN is not set, where the process would answer")
			}
			ctx, cancel := context.WithTimeout(c.Context(), healthLimit)
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
			if err != nil {
				return err
			}
			w, err := http.DefaultClient.Do(r)
			if err != nil {
				return err
			}
			defer w.Body.Close()
			causes, err := io.ReadAll(io.LimitReader(w.Body, 1<<16))
			if err == nil && w.StatusCode != http.StatusOK {
				err = fmt.Errorf("not ready: %s", causes)
			}
			return err
		},
	}
}

func adminPAT() *cobra.Command {
	return &cobra.Command{
		Use:   "admin-pat",
		Short: "Print the administrator's personal access token of the first start",
		Args:  cobra.NoArgs,
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
