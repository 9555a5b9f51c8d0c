package allinone

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"herald/shared/boot"
	"herald/shared/secret"
)

// work serves until ctx ends, or until Postgres does not run any more. In the second case it returns that error. Then
// it stops the gateway, the services and the inbox, in this order. The services finish their requests before they stop.
func (s *system) work(ctx context.Context) error {
	inward := context.WithoutCancel(ctx)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	services, stopServices := context.WithCancel(inward)
	servers, stopServers := context.WithCancel(inward)
	defer stopServices()
	defer stopServers()
	var inner, outer sync.WaitGroup
	for _, service := range s.opened {
		inner.Go(func() { service.Run(services) })
	}
	local := secret.Text{}
	if s.postgres != nil {
		local = s.Database
		s.ground.Outages.RefusesForUs() // while the disk is full, and the disk has lines of its own
		outer.Go(func() { fail(s.keepPostgres(servers)) })
	}
	outer.Go(func() { s.disk.watch(servers, local) })
	if s.nats != nil {
		outer.Go(func() { s.keepNATS(servers) })
	}
	if s.inbox != nil {
		outer.Go(func() { s.logged("inbox", s.inbox.ServeSMTP(servers, s.smtp)) })
		outer.Go(func() {
			s.logged("inbox page", boot.ServeHTTP(servers, s.page, &http.Server{Handler: s.inbox.Handler()}))
		})
	}
	s.logged("gateway", s.gateway.Run(ctx))
	stopServices()
	inner.Wait()
	stopServers()
	outer.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (s *system) logged(what string, err error) {
	if err != nil {
		s.ground.Log.Error(what, "err", err)
	}
}

// stop stops the servers that have started.
func (s *system) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var errs []error
	if s.gateway == nil { // the services did not run, so they are still open
		for _, service := range s.opened {
			service.Close()
		}
	}
	if s.nats != nil {
		s.nats.stop()
	}
	if s.inbox != nil {
		errs = append(errs, s.inbox.Close())
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Stop(ctx))
	}
	if s.ground.Flush != nil {
		errs = append(errs, s.ground.Flush(ctx))
	}
	if s.closeOps != nil {
		s.closeOps()
	}
	s.lock.Close() // nil if it was not taken, and then Close does nothing
	return errors.Join(errs...)
}
