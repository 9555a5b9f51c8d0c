// Command subscriber prints a line for each event of a user, or of all users, that Herald publishes
// on NATS.
//
//	go run ./examples/subscriber .data/subscriber.url [user id]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

const usage = "usage: subscriber FILE [user id]\n" +
	"FILE has the address nats://subscriber:password@host:port, which others could see among the arguments"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "subscriber:", err)
		os.Exit(1)
	}
}

// run listens until ctx ends. It prints events to out, and messages about the connection to notes.
func run(ctx context.Context, args []string, out, notes io.Writer) error {
	if len(args) < 1 || len(args) > 2 {
		return errors.New(usage)
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return fmt.Errorf("%w\n%s", err, usage)
	}
	// The error of url.Parse would contain the password.
	address, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil || address.Scheme != "nats" && address.Scheme != "tls" || address.Host == "" {
		return errors.New("the file has no address of a NATS server\n" + usage)
	}
	user := ""
	if len(args) == 2 {
		user = args[1]
	}
	nc, err := nats.Connect(address.String(),
		nats.Name("herald-example-subscriber"),
		nats.MaxReconnects(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				fmt.Fprintln(notes, "disconnected; reconnecting")
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) {
			fmt.Fprintln(notes, "connected again; events of the meantime were missed")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { fmt.Fprintln(notes, "NATS:", err) }),
	)
	if err != nil {
		return explain(err)
	}
	defer nc.Close()
	events := make(chan *nats.Msg, 1024)
	if _, err := nc.ChanSubscribe("events.>", events); err != nil {
		return err
	}
	if err := nc.Flush(); err != nil { // the server has the subscription
		return explain(err)
	}
	fmt.Fprintln(notes, "connected; waiting for events")
	report(ctx, events, user, out, notes)
	return nil
}

// report prints the events of a user, or all if user is empty, and the gaps between their numbers, until ctx ends.
func report(ctx context.Context, events <-chan *nats.Msg, user string, out, notes io.Writer) {
	numbers := counts{highest: map[string]int64{}}
	tick := time.NewTicker(gapTimeout / 4)
	defer tick.Stop()
	for {
		select {
		case m := <-events:
			if n, err := strconv.ParseInt(m.Header.Get("ce-sequence"), 10, 64); err == nil {
				numbers.came(m.Header.Get("ce-source"), n, time.Now())
			}
			if user == "" || concerns(m, user) {
				fmt.Fprintln(out, line(m))
			}
		case <-tick.C:
			for _, g := range numbers.due(time.Now()) {
				fmt.Fprintln(notes, g)
			}
		case <-ctx.Done():
			return
		}
	}
}

// concerns reports whether an event's object is the user or its data names the user.
func concerns(m *nats.Msg, user string) bool {
	if m.Header.Get("ce-subject") == user {
		return true
	}
	var payload struct{ UserID string }
	return json.Unmarshal(m.Data, &payload) == nil && payload.UserID == user
}

// line returns an event as a line for people: time, type, NATS subject, object, actor and data. The line has no control
// characters, because a terminal would execute them.
func line(m *nats.Msg) string {
	when := m.Header.Get("ce-time")
	if t, err := time.Parse(time.RFC3339Nano, when); err == nil {
		when = t.Local().Format("15:04:05.000")
	}
	words := []string{when, m.Header.Get("ce-type"), m.Subject, m.Header.Get("ce-subject"), "by",
		m.Header.Get("ce-actor"), string(m.Data)}
	for i, w := range words {
		words[i] = visible(w)
	}
	return strings.Join(words, "  ")
}

// visible escapes characters that are not printable, as Go does.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// explain returns an error that says what to do when the connection fails.
func explain(err error) error {
	var network *net.OpError
	switch {
	case errors.Is(err, nats.ErrAuthorization):
		return errors.New("the server refuses these credentials: take the URL from .data/subscriber.url, which a new " +
			"start may have written anew")
	case errors.Is(err, nats.ErrNoServers), errors.As(err, &network):
		return fmt.Errorf("nobody listens at this address; is `make run` running? Its port may have changed since: "+
			"read .data/subscriber.url again (%w)", err)
	}
	return err
}
