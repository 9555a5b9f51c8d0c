package main

import (
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/allinone"
	"herald/deploy/herald/internal/command"
)

// minThreads is how many threads run Go code at once, also on machines with fewer cores.
const minThreads = 4

// runOnFour raises the number of threads for the process with NATS in it, which syncs a file for
// each event. A thread that waits for a sync delays the goroutines in its queue until Go's runtime
// notices; with two threads that is half of the work. GOMAXPROCS in the environment has priority.
func runOnFour() {
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) < minThreads {
		runtime.GOMAXPROCS(minThreads)
	}
}

// run returns the command that runs everything. The containers' binary does not have it, nor its NATS server and inbox.
func run() *cobra.Command {
	return &cobra.Command{
		Use:     "run",
		Example: "  herald run\n  HERALD_LISTEN=127.0.0.1:9000 herald run",
		Short:   "Run everything in this process, with a local Postgres, NATS and an inbox for the mails",
		Long: `Run everything in this process, with a local Postgres, NATS and an inbox for the mails.

Exit codes: 0 after a signal; 3 if another process has HERALD_DATA_DIR, of which nothing was changed; else 1.`,
		Args: cobra.NoArgs,
		RunE: command.Serving(func(c *cobra.Command) error {
			runOnFour()
			return allinone.Run(c.Context(), os.Environ(), c.OutOrStdout(), c.ErrOrStderr())
		}),
	}
}
