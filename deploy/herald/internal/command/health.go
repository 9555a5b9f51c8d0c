package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"herald/shared/boot"
)

// healthLimit leaves time for the answer that names a check without an answer.
const healthLimit = boot.CheckLimit + 500*time.Millisecond

func health() *cobra.Command {
	return &cobra.Command{
		Use:     "health",
		Example: "  HERALD_OPS_LISTEN=127.0.0.1:9090 herald health",
		Short:   "Ask the process at HERALD_OPS_LISTEN whether it is ready; exit code 0 if so",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			address := os.Getenv("HERALD_OPS_LISTEN")
			if address == "" {
				return errors.New("HERALD_OPS_LISTEN is not set, where the process would answer")
			}
			return askHealth(c.Context(), address)
		},
	}
}

// askHealth returns why the process at an address is not ready.
func askHealth(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("HERALD_OPS_LISTEN: %w", err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return silent(address, err)
	}
	defer w.Body.Close()
	body, err := io.ReadAll(io.LimitReader(w.Body, 1<<16))
	if err != nil {
		return silent(address, err)
	}
	var said struct{ Status any }
	_ = json.Unmarshal(body, &said) // a text that is no JSON leaves it empty
	switch causes, failing := said.Status.(map[string]any); {
	case w.StatusCode == http.StatusOK && said.Status == "ok":
		return nil
	case w.StatusCode == http.StatusServiceUnavailable && failing:
		var lines []string
		for _, check := range slices.Sorted(maps.Keys(causes)) {
			cause := strings.Fields(fmt.Sprint(causes[check])) // it may have several lines
			lines = append(lines, line(check+": "+strings.Join(cause, " ")))
		}
		return fmt.Errorf("not ready: %s", strings.Join(lines, "; "))
	}
	return fmt.Errorf("another program has the port of HERALD_OPS_LISTEN: %s answers %s, not as Herald does", address,
		w.Status)
}

// silent returns an error that says why a process gave no answer.
func silent(address string, err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the process at %s does not answer within %s: it is frozen, or the machine is overloaded",
			address, healthLimit)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: the process does not run, or has another HERALD_OPS_LISTEN", address)
	}
	return fmt.Errorf("no answer of Herald at %s: %w", address, err)
}
