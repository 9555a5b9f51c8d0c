// Package store keeps organizations, users and their credentials in Postgres. Every query has the
// owner as a condition, and every change writes its event in the same statement.
package store

import (
	"context"
	"embed"
	"time"

	"herald/services/users/internal/domain"
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
type Store struct {
	journal event.Journal
}

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store {
	j.Constraints, j.Guard = constraints, guard
	return Store{j}
}

// constraints are the faults of the constraints of all tables.
var constraints = map[string]*fault.Fault{
	"organizations_name":           domain.ErrOrgNameTaken,
	"organizations_primary_domain": domain.ErrDomainTaken,
	"organizations_pkey":           domain.ErrOrgIDTaken,
	"users_id":                     domain.ErrUserIDTaken,
	"users_org":                    domain.ErrOrgNotFound,
	"users_user_name":              domain.ErrUserNameTaken,
	"members_user_place":           domain.ErrMemberExists,
	"members_user_id_fkey":         domain.ErrUserNotFound,
	"members_project":              domain.ErrProjectRemoved,
	"otp_factors_pkey":             domain.ErrOTPNotVerified,
	"project_owners_once":          domain.ErrOwnerMade,
	"user_idp_links_account":       domain.ErrIdpLinkTaken,
	"user_idp_links_idp":           domain.ErrIdpUnknown,
	"mail_counts_a_day":            domain.ErrTooManyMails,
	"makers_token":                 domain.ErrTokenInvalid,
	"instance_pkey":                ErrStarted,
	"instance_has_owner":           domain.ErrLastOwner,
}

// Now returns the time of changes.
func (s Store) Now() time.Time { return s.journal.Now() }

// Changes returns a page of the named history of the object with an id.
func (s Store) Changes(
	ctx context.Context, name, orgID, id string, p search.Page,
) (*heraldv1.SearchChangesResponse, error) {
	return history.Search(ctx, s.journal, history.Object{History: name, OrganizationID: orgID, ID: id}, p)
}
