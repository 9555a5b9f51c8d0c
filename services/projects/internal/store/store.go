// Package store keeps projects and their objects in Postgres. Every query has the owner as a condition, and every
// change writes its event in the same statement.
package store

import (
	"context"
	"embed"
	"time"

	"herald/shared/event"
	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
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
func New(j event.Journal) Store {
	j.Constraints = constraints
	return Store{j}
}

// constraints are the faults of the constraints of all tables.
var constraints = map[string]*fault.Fault{
	"projects_name":        projectsfault.ErrProjectNameTaken,
	"applications_name":    projectsfault.ErrAppNameTaken,
	"applications_project": projectsfault.ErrProjectNotFound,
	"roles_key":            projectsfault.ErrProjectRoleExists,
	"project_grants_org":   projectsfault.ErrProjectGrantExists,
	"user_grants_place":    projectsfault.ErrUserGrantExists,
	"user_grants_user":     projectsfault.ErrUserGrantUserRemoved,
}

// Now returns the time of changes.
func (s Store) Now() time.Time { return s.journal.Now() }

// Changes returns a page of the named history of the object with an id.
func (s Store) Changes(
	ctx context.Context, name, orgID, id string, p search.Page,
) (*heraldv1.SearchChangesResponse, error) {
	return s.journal.SearchHistory(ctx, event.History{Name: name, OrganizationID: orgID, ID: id}, p)
}

// Search reads a page of a query that a method of the store returned. Row is the type of the objects.
func Search[Row any](ctx context.Context, s Store, query *search.Query, p search.Page) (search.List[Row], error) {
	return search.Read[Row](ctx, s.journal.DB, query, p)
}

// Events returns the reader of this service's events.
func (s Store) Events() event.Reader {
	return event.Reader{Journal: s.journal, Names: `(select p.name from projects p where p.id = e.aggregate_id),
		(select a.name from applications a where a.id = e.aggregate_id)`}
}
