package allinone

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"herald/deploy/herald/internal/services"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/secret"
)

// Servers starts those servers of a data directory that the settings do not name, for a restore. It returns InUse if
// another process has the directory.
func Servers(
	ctx context.Context, c services.RunConfig, t boot.Trust, keys secret.Keys,
) (services.Servers, error) {
	s := system{RunConfig: c, Trust: t, ground: boot.Ground{Keys: keys}}
	s.ground.Log = slog.New(slog.DiscardHandler)
	s.NATSListen = "" // only this process uses it
	var err error
	if s.DataDir, err = filepath.Abs(c.DataDir); err != nil {
		return services.Servers{}, err
	}
	if s.lock, err = claim(s.DataDir, time.Now()); err != nil {
		return services.Servers{}, err
	}
	if err := together(s.startPostgres(ctx), s.startNATS); err != nil {
		return services.Servers{}, errors.Join(err, s.stop())
	}
	return services.Servers{Database: s.Database, NATS: s.ground.Bus.As(bus.Operator, keys), Stop: s.stop}, nil
}
