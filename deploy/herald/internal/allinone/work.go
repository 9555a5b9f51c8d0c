package allinone

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"herald/shared/boot"
	"herald/shared/bus"
)

// work serves until ctx ends. Then it stops the gateway, the services when they have finished
// their requests, and the inbox, in this order.
func (s *system) work(ctx context.Context) {
	inward := context.WithoutCancel(ctx)
	services, stopServices := context.WithCancel(inward)
	mails, stopMails := context.WithCancel(inward)
	defer stopServices()
	defer stopMails()
	var inner, outer sync.WaitGroup
	for _, service := range s.opened {
		inner.Go(func() { service.Run(services) })
	}
	if s.inbox != nil {
		outer.Go(func() { s.logged("inbox", s.inbox.ServeSMTP(mails, s.smtp)) })
		outer.Go(func() {
			s.logged("inbox page", boot.ServeHTTP(mails, s.page, &http.Server{
				Handler: s.inbox.Handler(), ReadHeaderTimeout: 5 * time.Second,
			}))
		})
	}
	s.logged("gateway", s.gateway.Run(ctx))
	stopServices()
	inner.Wait()
	stopMails()
	outer.Wait()
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
		bus.Stop(s.nats)
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
	return errors.Join(errs...)
}
