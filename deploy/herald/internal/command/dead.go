package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/services"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
)

// operatorLimit is the time after which the command reports that NATS cannot be reached.
const operatorLimit = 5 * time.Second

func dead() *cobra.Command {
	c := &cobra.Command{
		Use:   "dead",
		Short: "List or redrive the events that a service put aside because it failed to handle them",
		Long: `List or redrive the events that a service put aside because it failed to handle them ten times.

NATS is the one at HERALD_NATS_URL, with the key in HERALD_MASTER_KEY; without that setting, the one
inside the "herald run" whose files are in HERALD_DATA_DIR.`,
		Args: cobra.NoArgs, // a mistyped command counts as an argument
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(deadList(), deadRedrive())
	return c
}

func deadList() *cobra.Command {
	var limit int
	var output string
	c := &cobra.Command{
		Use:   "list",
		Short: "List the events that were put aside, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			write, known := map[string]func(io.Writer, []event.Letter) error{"table": writeTable,
				"json": writeJSON}[output]
			if !known {
				return fmt.Errorf("--output is table or json, not %q", output)
			}
			if limit < 1 {
				return errors.New("--limit is at least 1")
			}
			return asOperator(c, func(ctx context.Context, js jetstream.JetStream) error {
				letters, err := event.Letters(ctx, js, limit)
				if err != nil {
					return err
				}
				if len(letters) == limit {
					fmt.Fprintf(c.ErrOrStderr(), "these are the oldest %d; there may be more: see --limit\n", limit)
				}
				return write(c.OutOrStdout(), letters)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 1000, "largest number of events listed")
	c.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return c
}

// maxReason is how much of a reason the table shows; JSON has all of it.
const maxReason = 200

func writeTable(w io.Writer, letters []event.Letter) error {
	if len(letters) == 0 {
		_, err := fmt.Fprintln(w, "no dead letters")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SEQUENCE\tTIME\tSERVICE\tSUBJECT\tEVENT\tREASON")
	for _, l := range letters {
		reason := []rune(l.Reason)
		if len(reason) > maxReason {
			reason = append(reason[:maxReason], '…')
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", l.Sequence, l.Time.Format(time.RFC3339), l.Service, l.Subject,
			l.EventID, string(reason))
	}
	return t.Flush()
}

func writeJSON(w io.Writer, letters []event.Letter) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(append([]event.Letter{}, letters...)) // [] instead of null
}

func deadRedrive() *cobra.Command {
	return &cobra.Command{
		Use:   "redrive [SEQUENCE ...]",
		Short: "Hand events that were put aside to their service once more: those of the given numbers, or all",
		RunE: func(c *cobra.Command, args []string) error {
			var sequences []uint64
			for _, a := range args {
				n, err := strconv.ParseUint(a, 10, 64)
				if err != nil || n == 0 {
					return fmt.Errorf("%q is not the number of a dead letter; `herald dead list` shows them", a)
				}
				sequences = append(sequences, n)
			}
			return asOperator(c, func(ctx context.Context, js jetstream.JetStream) error {
				if len(sequences) == 0 {
					return redriveAll(ctx, js, c.OutOrStdout())
				}
				return redrive(ctx, js, sequences, c.OutOrStdout())
			})
		},
	}
}

func redriveAll(ctx context.Context, js jetstream.JetStream, out io.Writer) error {
	letters, err := event.Letters(ctx, js, math.MaxInt)
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		return writeTable(out, nil)
	}
	sequences := make([]uint64, len(letters))
	for i, l := range letters {
		sequences[i] = l.Sequence
	}
	return redrive(ctx, js, sequences, out)
}

// redrive prints what it did with each event. It goes on after a number without an event and
// returns an error at the end; any other error ends it.
func redrive(ctx context.Context, js jetstream.JetStream, sequences []uint64, out io.Writer) error {
	var faults []error
	done := 0
	for _, n := range sequences {
		l, err := event.Redrive(ctx, js, n)
		if err != nil {
			faults = append(faults, fmt.Errorf("%d: %w", n, err))
			if errors.Is(err, event.ErrNoLetter) {
				continue
			}
			break
		}
		done++
		fmt.Fprintf(out, "%d: %s (%s) goes to %s again\n", n, l.Subject, l.EventID, l.Service)
	}
	fmt.Fprintf(out, "%d of %d redriven\n", done, len(sequences))
	return errors.Join(faults...)
}

// asOperator connects as the operator and calls a function with the connection.
func asOperator(c *cobra.Command, work func(context.Context, jetstream.JetStream) error) error {
	own, err := load()
	if err != nil {
		return err
	}
	address, err := operator(own.run)
	if err != nil {
		return err
	}
	g, err := boot.NewTelemetry(c.Context(), boot.Observe{}, bus.Operator, c.ErrOrStderr())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Context(), operatorLimit)
	defer cancel()
	conn, err := bus.Connect(ctx, address, g.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return work(c.Context(), js)
}

func operator(c services.RunConfig) (bus.Address, error) {
	if c.NATS == "" {
		return c.Operator()
	}
	keys, err := masterKeys(c.MasterKey)
	if err != nil {
		return bus.Address{}, err
	}
	return bus.Address{URL: c.NATS}.As(bus.Operator, keys), nil
}
