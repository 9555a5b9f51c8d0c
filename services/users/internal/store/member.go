package store

import (
	"context"
	"strings"
	"unicode"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const memberColumns = `user_id, org_id, project_id, roles, sequence, created_at, changed_at`

// MembershipsAt returns the memberships of a user of an organization: in the organization, its
// projects and the instance. It returns none for a user of another organization.
func (s Store) MembershipsAt(ctx context.Context, orgID, userID string) ([]domain.Member, error) {
	return postgres.All[domain.Member](ctx, s.journal.DB, `select `+memberColumns+` from members
		where user_id = (select id from users where id = @user_id and org_id is not distinct from @org_id)
			and org_id in ('', @org_id)
		order by org_id, project_id`, postgres.Args{"org_id": orgID, "user_id": userID})
}

// CreateMember adds a member. The user may belong to any organization.
func (s Store) CreateMember(ctx context.Context, m domain.Member, added proto.Message) (resource.Record, error) {
	return s.journal.Create(ctx, added, newMember(m))
}

func newMember(m domain.Member) event.Statement {
	return event.Statement{
		AggregateID: m.UserID, OrganizationID: m.OrgID,
		SQL: `member as (
			insert into members (` + memberColumns + `)
			select @user_id, @org_id, @project_id, @roles, position, time, time
			from event
		)`,
		Args: memberArgs(m),
	}
}

func memberArgs(m domain.Member) postgres.Args {
	// An empty list must not be nil, which would be null.
	return postgres.Args{
		"user_id": m.UserID, "org_id": m.OrgID, "project_id": m.ProjectID, "roles": append([]string{}, m.Roles...),
	}
}

// ChangeMember locks a member, calls change and saves the result. A member without roles is
// removed.
func (s Store) ChangeMember(
	ctx context.Context, orgID, projectID, userID string, change func(*domain.Member) (proto.Message, error),
) (domain.Member, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Member]{
		Lock: `select ` + memberColumns + ` from members
			where user_id = @user_id and org_id = @org_id and project_id = @project_id for update`,
		Args:     postgres.Args{"user_id": userID, "org_id": orgID, "project_id": projectID},
		NotFound: domain.ErrMemberNotFound,
		Write: func(m domain.Member) event.Statement {
			return event.Statement{
				AggregateID: m.UserID, OrganizationID: m.OrgID,
				SQL: `kept as (
					update members set roles = @roles::text[], sequence = position, changed_at = time from event
					where user_id = @user_id and org_id = @org_id and project_id = @project_id
						and @roles::text[] <> '{}'
				), removed as (
					delete from members using event
					where user_id = @user_id and org_id = @org_id and project_id = @project_id and @roles::text[] = '{}'
				)`,
				Args: memberArgs(m),
			}
		},
	}, change)
}

// NamedMember is a member with the names that a list shows.
type NamedMember struct {
	domain.Member
	UserName    string
	DisplayName string
}

// Members returns a query for the members of an organization, of one of its projects or, with
// both ids empty, of the instance.
func (s Store) Members(orgID, projectID string) *search.Query {
	return search.Select(
		prefixed("m", memberColumns)+`, u.user_name, coalesce(nullif(u.display_name, ''), u.user_name) as display_name`,
		`members m join users u on u.id = m.user_id`, `m.created_at, m.user_id`,
	).Where(`m.org_id = ? and m.project_id = ?`, orgID, projectID)
}

// SearchMembers runs a query of Members.
func (s Store) SearchMembers(
	ctx context.Context, query *search.Query, p search.Page,
) (search.List[NamedMember], error) {
	return search.Read[NamedMember](ctx, s.journal.DB, query, p)
}

// SearchMemberships returns a user's memberships: all, or those in one organization if orgID is
// not empty.
func (s Store) SearchMemberships(
	ctx context.Context, userID, orgID string, p search.Page,
) (search.List[domain.Member], error) {
	query := search.Select(memberColumns, "members", "created_at, org_id, project_id").Where("user_id = ?", userID)
	if orgID != "" {
		query.Where("org_id = ?", orgID)
	}
	return search.Read[domain.Member](ctx, s.journal.DB, query, p)
}

// prefixed writes a table's alias before each of its columns.
func prefixed(alias, columns string) string {
	names := strings.FieldsFunc(columns, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	return alias + "." + strings.Join(names, ", "+alias+".")
}
