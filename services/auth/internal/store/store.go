// Package store keeps in Postgres what the service itself owns. Every change and its event are written in the same
// statement.
package store

import (
	"embed"

	"herald/shared/event"
)

// Migrations create the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ journal event.Journal }

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store { return Store{j} }
