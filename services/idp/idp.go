// Package idp is the service that owns identity providers: the directories with whose
// accounts an organization's users log in, and the client secrets for them.
package idp

import (
	"context"

	"herald/services/idp/internal/api"
	"herald/services/idp/internal/domain"
	"herald/services/idp/internal/intake"
	"herald/services/idp/internal/store"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/removal"
	"herald/shared/search"
	"herald/shared/secret"
)

// Config is the service's settings.
type Config struct {
	MaxLimit int64 `env:"HERALD_SEARCH_MAX_LIMIT" envDefault:"1000" help:"largest page of a search"`
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// Sealed are the columns with sealed secrets.
var Sealed = []secret.Column{domain.SealedClientSecret}

// New registers the service.
func New(_ context.Context, s *boot.Service, c Config) error {
	if err := search.CheckMax(c.MaxLimit); err != nil {
		return err
	}
	db := store.New(s.Journal)
	s.Consume(removal.Start(s, intake.Sweep(db)))
	return s.Serve(&idpv1.Idps_ServiceDesc, api.Idps{
		Store: db, Keys: s.Keys, MaxLimit: c.MaxLimit,
		Callback: s.PublicURL.JoinPath("ui/login/externalidp/callback").String(),
	})
}
