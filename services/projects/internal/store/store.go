// Package store keeps projects and all that is in them in Postgres. Every query names
// its owner; every change writes its event in the same statement.
package store

import (
	"context"
	"embed"
	"time"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/history"
	"herald/shared/search"
)

// Migrations make the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ journal event.Journal }

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store {
	j.Constraints = constraints
	return Store{j}
}

// constraints are the faults of the constraints of all tables.
var constraints = map[string]*fault.Fault{
	"projects_name":        domain.ErrProjectNameTaken,
	"applications_name":    domain.ErrAppNameTaken,
	"applications_project": domain.ErrProjectNotFound,
	"roles_key":            domain.ErrRoleExists,
	"project_grants_org":   domain.ErrGrantExists,
	"user_grants_place":    domain.ErrUserGrantExists,
	"user_grants_user":     domain.ErrUserGrantUser,
}

// Now is the time that changes have.
func (s Store) Now() time.Time { return s.journal.Now() }

// Changes lists what happened to the object with an id, as the named history of the contract shows it.
func (s Store) Changes(
	ctx context.Context, name, orgID, id string, p search.Page,
) (*heraldv1.SearchChangesResponse, error) {
	return history.Search(ctx, s.journal, history.Object{History: name, OrganizationID: orgID, ID: id}, p)
}
