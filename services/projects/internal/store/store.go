// Package store keeps projects and all that is in them in Postgres. Every query names
// its owner; every change writes its event in the same statement.
package store

import (
	"embed"

	"herald/services/projects/internal/domain"
	"herald/shared/event"
	"herald/shared/fault"
)

// Migrations make the tables.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Store is the service's database.
type Store struct{ event.Journal }

// constraints are the faults of the constraints of all tables.
var constraints = map[string]*fault.Fault{
	"projects_name":        domain.ErrProjectNameTaken,
	"applications_name":    domain.ErrAppNameTaken,
	"applications_project": domain.ErrProjectNotFound,
	"roles_project":        domain.ErrProjectNotFound,
	"roles_key":            domain.ErrRoleExists,
	"project_grants_org":   domain.ErrGrantExists,
	"user_grants_place":    domain.ErrUserGrantExists,
}
