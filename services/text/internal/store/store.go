// Package store keeps the texts that organizations wrote and the instance's languages. A
// read is one statement, and sees all that was committed before it; a change writes its
// event with it.
package store

import (
	"embed"

	"herald/shared/event"
)

// Migrations make the service's tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ journal event.Journal }

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store { return Store{j} }
