// Package text is the service for languages and for the texts of messages: default texts, and
// those that organizations write themselves.
//
// Default texts are part of the program and read once. Organizations' texts and the chosen
// languages are read from the database at every call, so that no replica uses old ones.
package text

import (
	"context"
	"fmt"

	"herald/services/text/internal/api"
	"herald/services/text/internal/consumer"
	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
	"herald/shared/boot"
	"herald/shared/event"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/orgremoval"
)

// Config is the settings for languages.
type Config struct {
	DefaultLanguage string `env:"HERALD_DEFAULT_LANGUAGE" envDefault:"en"`
}

// Help implements boot.Documented.
func (Config) Help() map[string]string {
	return map[string]string{
		"HERALD_DEFAULT_LANGUAGE": "language of mails and pages where the reader's own is not known, not " +
			"supported or not allowed, until it or the allowed ones are set over the API",
	}
}

// Migrations make the service's tables.
var Migrations = store.Migrations

// New registers the service's methods. It fails if the default language has no texts.
func New(_ context.Context, s *boot.Service, c Config) error {
	catalog, err := domain.NewCatalog(c.DefaultLanguage)
	if err != nil {
		return fmt.Errorf("HERALD_DEFAULT_LANGUAGE: %w", err)
	}
	db := store.New(s.Journal)
	s.Consume(orgremoval.Start(s, consumer.Sweep(db)))
	return s.Serve(func(r boot.Registrar) {
		textv1.RegisterTextServer(r, api.Text{
			Catalog: catalog, Store: db, PublicURL: s.PublicURL.String(), Log: s.Log,
		})
		textv1.RegisterEventsServer(r, event.Reader{Journal: s.Journal})
	})
}
