// Package store keeps organizations, users and their credentials in Postgres. Every
// query names its owner; every change writes its event in the same statement.
package store

import (
	"context"
	"embed"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/fault"
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
	"organizations_name":           domain.ErrOrgNameTaken,
	"organizations_primary_domain": domain.ErrDomainTaken,
	"users_id":                     domain.ErrUserIDTaken,
	"users_org":                    domain.ErrOrgNotFound,
	"users_user_name":              domain.ErrUserNameTaken,
	"members_user_place":           domain.ErrMemberExists,
	"members_user_id_fkey":         domain.ErrUserNotFound,
	"project_owners_once":          domain.ErrOwnerMade,
	"instance_pkey":                ErrStarted,
	"instance_has_owner":           domain.ErrLastOwner,
}

// Now is the time that changes have.
func (s Store) Now() time.Time { return s.journal.Now() }

// Changes lists what happened to an organization or a user.
func (s Store) Changes(ctx context.Context, a event.Aggregate, p search.Page) (search.List[event.Event], error) {
	return s.journal.Changes(ctx, a, p)
}

// Recall gives handlers what happened to a user lately, newest first.
func (s Store) Recall(ctx context.Context, p event.Past, handlers ...event.Handler) error {
	return s.journal.Recall(ctx, p, handlers...)
}
