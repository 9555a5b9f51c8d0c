// Package store keeps in Postgres what the service itself owns. Every change writes its event in the same statement.
package store

import (
	"embed"

	"herald/shared/event"
)

// Migrations make the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ journal event.Journal }

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store { return Store{j} }
