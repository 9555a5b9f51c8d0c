// Package store keeps organizations, users and their credentials in Postgres. Every query has the
// owner as a condition, and every change writes its event in the same statement.
package store

import (
	"context"
	"embed"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"herald/shared/event"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	heraldv1 "herald/shared/gen/herald/v1"
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

// Apart returns a store for a command beside the service. The service's relay finds the events.
func Apart(db *pgxpool.Pool, now func() time.Time) Store {
	return New(event.Journal{DB: db, Now: now, Committed: func(event.Event) {}})
}

// New returns a store that writes its changes with a journal.
func New(j event.Journal) Store {
	j.Constraints, j.Guard = constraints, guard
	return Store{j}
}

// constraints are the faults of the constraints of all tables.
var constraints = map[string]*fault.Fault{
	"organizations_name":           usersfault.ErrOrgNameTaken,
	"organizations_primary_domain": usersfault.ErrOrgDomainTaken,
	"organizations_pkey":           usersfault.ErrOrgIDTaken,
	"users_id":                     usersfault.ErrUserIDTaken,
	"users_org":                    usersfault.ErrOrgNotFound,
	"users_user_name":              usersfault.ErrUserNameTaken,
	"members_user_place":           usersfault.ErrMemberExists,
	"members_user_id_fkey":         usersfault.ErrUserNotFound,
	"members_project":              usersfault.ErrProjectRemoved,
	"otp_factors_pkey":             usersfault.ErrOTPNotVerified,
	"project_owners_once":          usersfault.ErrProjectOwnerMade,
	"user_idp_links_account":       usersfault.ErrIdpLinkTaken,
	"user_idp_links_idp":           usersfault.ErrIdpUnknown,
	"mail_counts_a_day":            usersfault.ErrTooManyMails,
	"makers_token":                 fault.ErrTokenInvalid,
	"instance_pkey":                usersfault.ErrInstanceExists,
	"instance_has_owner":           usersfault.ErrLastIAMOwner,
}

// Now returns the time of changes.
func (s Store) Now() time.Time { return s.journal.Now() }

// Changes returns a page of the named history of the object with an id.
func (s Store) Changes(
	ctx context.Context, name, orgID, id string, p search.Page,
) (*heraldv1.SearchChangesResponse, error) {
	return s.journal.SearchHistory(ctx, event.History{Name: name, OrganizationID: orgID, ID: id}, p)
}
