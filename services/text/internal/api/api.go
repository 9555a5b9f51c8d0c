// Package api implements the methods of herald.text.v1: languages and the texts of messages.
package api

import (
	"log/slog"

	"herald/services/text/internal/domain"
	"herald/services/text/internal/store"
)

// Text implements the service's methods.
type Text struct {
	Catalog domain.Catalog
	Store   store.Store
	// PublicURL is the beginning of links in previews, without a slash at its end.
	PublicURL string
	Log       *slog.Logger
}
