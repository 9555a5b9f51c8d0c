package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"
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
		Use:     "dead",
		Example: "  herald dead list\n  herald dead redrive",
		Short:   "List or redrive the events that a service put aside because it failed to handle them",
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
	var out output
	c := &cobra.Command{
		Use:     "list",
		Example: "  herald dead list\n  herald dead list -o yaml",
		Short:   "List the events that were put aside, oldest first",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.known(); err != nil {
				return err
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
				return writeLetters(c.OutOrStdout(), out.format, letters)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 1000, "largest number of events listed")
	out.flags(c, c.Flags(), "table")
	return c
}

func writeLetters(w io.Writer, format string, letters []event.Letter) error {
	if format == "json" || format == "yaml" {
		text, err := json.Marshal(append([]event.Letter{}, letters...)) // [] instead of null
		if err == nil && format == "yaml" {
			return printYAML(w, text)
		}
		return cmp.Or(err, printJSON(w, text))
	}
	var rows [][]string
	for _, l := range letters {
		if format == "id" {
			fmt.Fprintln(w, l.Sequence)
			continue
		}
		rows = append(rows, []string{fmt.Sprint(l.Sequence), l.Time.Format(time.RFC3339), l.Service, l.Subject,
			l.EventID, l.Reason})
	}
	switch {
	case format == "id":
		return nil
	case len(rows) == 0:
		_, err := fmt.Fprintln(w, "no dead letters")
		return err
	}
	return writeTable(w, []string{"SEQUENCE", "TIME", "SERVICE", "SUBJECT", "EVENT", "REASON"}, rows)
}

func deadRedrive() *cobra.Command {
	return &cobra.Command{
		Use:     "redrive [SEQUENCE ...]",
		Example: "  herald dead redrive\n  herald dead redrive 12 13",
		Short:   "Hand events that were put aside to their service once more: those of the given numbers, or all",
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
		return writeLetters(out, "table", nil)
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
	address, err := operator(own.run, own.trust)
	if err != nil {
		return err
	}
	g, err := boot.NewTelemetry(c.Context(), boot.Observe{}, bus.Operator, c.ErrOrStderr())
	if err != nil {
		return err
	}
	return withStreams(c.Context(), address, g.Log, work)
}

// withStreams connects to NATS and calls a function with the connection.
func withStreams(
	ctx context.Context, a bus.Address, log *slog.Logger, work func(context.Context, jetstream.JetStream) error,
) error {
	connect, cancel := context.WithTimeout(ctx, operatorLimit)
	defer cancel()
	conn, err := bus.Connect(connect, a, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	return work(ctx, js)
}

func operator(c services.RunConfig, t boot.Trust) (bus.Address, error) {
	if c.NATS == "" {
		return c.Operator()
	}
	keys, err := masterKeys(c.MasterKey)
	if err != nil {
		return bus.Address{}, err
	}
	return bus.Address{URL: c.NATS, CAFile: t.CAFile}.As(bus.Operator, keys), nil
}
