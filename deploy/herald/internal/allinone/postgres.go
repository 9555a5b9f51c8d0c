package allinone

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"herald/shared/postgres/local"
	"herald/shared/secret"
)

// Postgres starts the local server of a data directory alone, for a restore. It returns the URL of the server and a
// function that stops it. It returns InUse if another process has the directory.
func Postgres(ctx context.Context, dataDir string) (server secret.Text, stop func() error, err error) {
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return server, nil, err
	}
	lock, err := claim(dir, time.Now())
	if err != nil {
		return server, nil, err
	}
	running, err := local.Start(ctx, local.Options{
		Dir: filepath.Join(dir, "postgres"), Bin: os.Getenv("PG_BIN"), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return server, nil, errors.Join(err, lock.Close())
	}
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopLimit)
		defer cancel()
		return errors.Join(running.Stop(ctx), lock.Close())
	}
	return secret.NewText(running.URL()), stop, nil
}
