// Package store keeps organizations, users and their credentials in Postgres. Every
// query names its owner; every change writes its event in the same statement.
package store

import (
	"embed"

	"herald/services/users/internal/domain"
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
	"organizations_name":           domain.ErrOrgNameTaken,
	"organizations_primary_domain": domain.ErrDomainTaken,
	"users_id":                     domain.ErrUserIDTaken,
	"users_org":                    domain.ErrOrgNotFound,
	"users_user_name":              domain.ErrUserNameTaken,
	"members_user_place":           domain.ErrMemberExists,
	"members_user_id_fkey":         domain.ErrUserNotFound,
	"project_owners_once":          domain.ErrOwnerMade,
}
