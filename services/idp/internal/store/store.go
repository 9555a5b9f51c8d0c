// Package store keeps identity providers in Postgres. Every query names its owner; every
// change writes its event in the same statement.
package store

import (
	"context"
	"embed"

	"herald/shared/event"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/search"
)

// Migrations make the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ journal event.Journal }

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store { return Store{j} }

// Changes lists what happened to a provider.
func (s Store) Changes(
	ctx context.Context, orgID, id string, p search.Page,
) (*heraldv1.SearchChangesResponse, error) {
	return s.journal.SearchHistory(ctx, event.History{Name: "idp", OrganizationID: orgID, ID: id}, p)
}

// Events returns the reader of this service's events.
func (s Store) Events() event.Reader {
	return event.Reader{Journal: s.journal, Names: `(select i.name from idps i where i.id = e.aggregate_id)`}
}
