// Package idp is the service that owns identity providers: the directories with whose
// accounts an organization's users log in, and the client secrets for them.
package idp

import (
	"context"

	"herald/services/idp/internal/api"
	"herald/services/idp/internal/consumer"
	"herald/services/idp/internal/directory"
	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/store"
	"herald/shared/boot"
	"herald/shared/expiration"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/orgremoval"
	"herald/shared/outbound"
	"herald/shared/search"
	"herald/shared/secret"
)

// Config is the service's settings.
type Config struct {
	search.Limit
	boot.QuotaSettings
	Authority string `env:"HERALD_DIRECTORY_AUTHORITY" envDefault:"https://login.microsoftonline.com"`
	outbound.Network
}

// Help implements boot.Documented.
func (Config) Help() map[string]string {
	return map[string]string{
		"HERALD_DIRECTORY_AUTHORITY": "address of the enterprise directory, without the tenant: another one " +
			"in national clouds",
	}
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// Sealed are the columns with sealed secrets.
var Sealed = []secret.Column{domain.SealedClientSecret}

// New registers the service.
func New(ctx context.Context, s *boot.Service, c Config) error {
	if err := search.CheckMax(c.MaxLimit); err != nil {
		return err
	}
	callback := s.PublicURL.JoinPath("ui/login/externalidp/callback").String()
	where, err := directory.New(directory.Config{
		Authority: c.Authority, Private: c.OutboundPrivate, Callback: callback, Now: s.Now, Log: s.Log,
	})
	if err != nil {
		return err
	}
	if err := s.SetQuotas(ctx, c.QuotaSettings); err != nil {
		return err
	}
	db := store.New(s.Journal)
	s.Consume(orgremoval.Start(s, consumer.Sweep(db)))
	expiration.Start(s, store.Expiring)
	s.Background(func(ctx context.Context) { consumer.ReportRefusedLogins(ctx, s, db) })
	return s.Serve(func(r boot.Registrar) {
		idpv1.RegisterIdpsServer(r, api.Idps{
			Store: db, Keys: s.Keys, MaxLimit: c.MaxLimit, Callback: callback, Directory: where, Log: s.Log,
			Now: s.Now,
		})
		idpv1.RegisterEventsServer(r, db.Events())
	})
}
