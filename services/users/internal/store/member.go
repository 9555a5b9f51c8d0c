package store

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const memberColumns = `user_id, org_id, project_id, roles, sequence, created_at, changed_at`

// otherOwners selects those who own the instance and can log in.
const otherOwners = `select from members m join users u on u.id = m.user_id join organizations o on o.id = u.org_id
	where m.org_id = '' and 'IAM_OWNER' = any (m.roles) and u.state = 1 and o.state = 1`

// Memberships reads all places in which a caller, and a user of an organization, have
// roles. A user of another organization has none here.
func (s Store) Memberships(ctx context.Context, callerID, orgID, userID string) ([]domain.Member, error) {
	return postgres.All[domain.Member](ctx, s.DB, `select `+memberColumns+` from members
		where user_id = $1 or user_id = (select id from users where org_id = $2 and id = $3)`, callerID, orgID, userID)
}

// CreateMember writes a member. The user may belong to any organization.
func (s Store) CreateMember(ctx context.Context, m domain.Member, added proto.Message) (resource.Record, error) {
	return s.Create(ctx, added, newMember(m))
}

func newMember(m domain.Member) event.Save {
	return event.Save{
		AggregateID: m.UserID, OrganizationID: m.OrgID, Constraints: constraints,
		SQL: `member as (
			insert into members (` + memberColumns + `) select $9, $10, $11, $12, position, time, time from event
		)`,
		Args: []any{m.UserID, m.OrgID, m.ProjectID, m.Roles},
	}
}

// ChangeMember locks a member and saves what change makes of it; a member without
// roles is removed. Somebody who can log in must own the instance afterwards.
func (s Store) ChangeMember(ctx context.Context, orgID, projectID, userID string, change func(*domain.Member) (proto.Message, error)) (domain.Member, error) {
	return event.Change(ctx, s.Journal, event.Object[domain.Member]{
		Lock: `select ` + prefixed("m", memberColumns) + ` from members m, instance i
			where m.user_id = $1 and m.org_id = $2 and m.project_id = $3 for update`,
		NotFound: domain.ErrMemberNotFound,
		Save: func(m domain.Member) event.Save {
			return event.Save{
				AggregateID: m.UserID, OrganizationID: m.OrgID, Unless: domain.ErrLastOwner,
				If: `$10 <> '' or 'IAM_OWNER' = any ($12::text[]) or exists (` + otherOwners + ` and m.user_id <> $9)`,
				SQL: `kept as (
					update members set roles = $12::text[], sequence = position, changed_at = time from event
					where user_id = $9 and org_id = $10 and project_id = $11 and $12::text[] <> '{}'
				), removed as (
					delete from members using event where user_id = $9 and org_id = $10 and project_id = $11 and $12::text[] = '{}'
				)`,
				Args: []any{m.UserID, m.OrgID, m.ProjectID, slices.Clip(append([]string{}, m.Roles...))},
			}
		},
	}, []any{userID, orgID, projectID}, change)
}

// NamedMember is a member with the names that a list shows.
type NamedMember struct {
	domain.Member
	UserName    string
	DisplayName string
}

// Members begins a search among the members of an organization, of one of its projects,
// or of the instance where both ids are empty.
func (s Store) Members(orgID, projectID string) *search.Query {
	return search.Select(prefixed("m", memberColumns)+`, u.user_name, coalesce(nullif(u.display_name, ''), u.user_name) as display_name`,
		`members m join users u on u.id = m.user_id`, `m.created_at, m.user_id`).Where(`m.org_id = ? and m.project_id = ?`, orgID, projectID)
}

// SearchMembers runs it.
func (s Store) SearchMembers(ctx context.Context, query *search.Query, p search.Page) (search.List[NamedMember], error) {
	return search.Read[NamedMember](ctx, s.DB, query, p)
}

// SearchMemberships lists a user's places: all of them where orgID is empty, else
// those in that organization.
func (s Store) SearchMemberships(ctx context.Context, userID, orgID string, p search.Page) (search.List[domain.Member], error) {
	query := search.Select(memberColumns, "members", "created_at, org_id, project_id").Where("user_id = ?", userID)
	if orgID != "" {
		query.Where("org_id = ?", orgID)
	}
	return search.Read[domain.Member](ctx, s.DB, query, p)
}

// prefixed writes a table's alias before each of its columns.
func prefixed(alias, columns string) string {
	return alias + "." + strings.ReplaceAll(columns, ", ", ", "+alias+".")
}
