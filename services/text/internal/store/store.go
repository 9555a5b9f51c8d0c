// Package store keeps the organizations' own texts and the instance's languages in Postgres. A
// read is one statement. A change writes its event in the same transaction.
package store

import (
	"embed"

	"herald/shared/event"
)

// Migrations make the service's tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store reads and writes the service's database.
type Store struct{ journal event.Journal }

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store { return Store{j} }
