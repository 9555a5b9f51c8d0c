// Command standin runs the inbox in place of Mailpit on machines that cannot pull its image. Mails
// come on port 1025, page and API are on 8025, and mails are stored beside MP_DATABASE.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"herald/deploy/herald/internal/inbox"
	"herald/shared/boot"
)

func main() {
	run := serve
	if len(os.Args) > 1 && os.Args[1] == "readyz" {
		run = ready
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "standin:", err)
		os.Exit(1)
	}
}

func ready() error {
	w, err := http.Get("http://127.0.0.1:8025/api/v1/messages")
	if err != nil {
		return err
	}
	return w.Body.Close()
}

func serve() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	in, err := inbox.Open(filepath.Join(filepath.Dir(os.Getenv("MP_DATABASE")), "inbox"), slog.Default())
	if err != nil {
		return err
	}
	smtp, err := net.Listen("tcp", ":1025")
	if err != nil {
		return err
	}
	page, err := net.Listen("tcp", ":8025")
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- in.ServeSMTP(ctx, container{smtp}) }()
	err = boot.ServeHTTP(ctx, page, &http.Server{Handler: in.Handler()})
	return errors.Join(err, <-served, in.Close())
}

// container is a listener that reports a loopback address, as the inbox requires. Only the
// container's network can reach it.
type container struct{ net.Listener }

func (container) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1025} }
