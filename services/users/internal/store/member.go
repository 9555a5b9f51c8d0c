package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/search"
)

const memberColumns = `user_id, org_id, project_id, roles, state, sequence, created_at, changed_at`

// CreateMember adds a member, who may belong to any organization. It returns the member with its state.
func (s Store) CreateMember(
	ctx context.Context, m domain.Member, added func(domain.Member) proto.Message,
) (domain.Member, error) {
	accepting, _ := caller.RolesGiving([]string{"org.member.write"})
	made, err := event.Change(ctx, s.journal, event.Locked[newMembership]{
		LockFirst: lockReceiver(m.UserID),
		Lock: `select case when ` + accepted + ` then @active::smallint else @pending end as state
			from users u where u.id = @user_id`,
		Args: postgres.Args{
			"user_id": m.UserID, "org_id": m.OrgID, "maker": caller.From(ctx).UserID, "accepting": accepting,
			"active": domain.MembershipActive, "pending": domain.MembershipPending,
		},
		NotFound: usersfault.ErrUserNotFound,
		Write:    func(newMembership) event.Statement { return giveRoles(m, caller.From(ctx).UserID) },
	}, func(made *newMembership) (proto.Message, error) {
		m.State = made.State
		return added(m), nil
	})
	m.Record = made.Record
	return m, err
}

// newMembership is the row type of Change for a new member.
type newMembership struct {
	State domain.MembershipState
	event.Creation
}

// accepted is an SQL condition: a new membership of u does not wait to be accepted. It is in the instance or in the
// organization of u, or its maker is u or may accept it.
const accepted = `(@org_id in ('', u.org_id) or u.id = @maker or exists (
		select from active_members a where a.user_id = @maker and a.org_id in ('', u.org_id) and a.project_id = ''
			and a.roles && @accepting))`

// giveRoles writes a new member, and ends what was made for the user by somebody whom the roles outrank.
func giveRoles(m domain.Member, giver string) event.Statement {
	save := newMember(m)
	endOutranked(&save, m, giver)
	return save
}

func newMember(m domain.Member) event.Statement {
	return event.Statement{
		AggregateID: m.UserID, OrganizationID: m.OrgID,
		SQL: `member as (
			insert into members (` + memberColumns + `)
			select @user_id, @org_id, @project_id, @roles, @state, position, time, time
			from event
		)`,
		Args: memberArgs(m),
	}
}

func memberArgs(m domain.Member) postgres.Args {
	// An empty list must not be nil, which would be null.
	return postgres.Args{
		"user_id": m.UserID, "org_id": m.OrgID, "project_id": m.ProjectID, "roles": append([]string{}, m.Roles...),
		"state": m.State,
	}
}

// ChangeMember locks a member, calls change and saves the result. A member without roles is
// removed.
func (s Store) ChangeMember(
	ctx context.Context, orgID, projectID, userID string, change func(*domain.Member) (proto.Message, error),
) (domain.Member, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Member]{
		LockFirst: lockReceiver(userID),
		Lock: `select ` + memberColumns + ` from members
			where user_id = @user_id and org_id = @org_id and project_id = @project_id for update`,
		Args:     postgres.Args{"user_id": userID, "org_id": orgID, "project_id": projectID},
		NotFound: usersfault.ErrMemberNotFound, Write: saveMember(ctx),
	}, change)
}

// saveMember returns a function that writes what can change of a member, or removes one without roles.
func saveMember(ctx context.Context) func(domain.Member) event.Statement {
	giver := caller.From(ctx).UserID
	return func(m domain.Member) event.Statement {
		save := event.Statement{
			AggregateID: m.UserID, OrganizationID: m.OrgID,
			SQL: `kept as (
			update members set roles = @roles::text[], state = @state, sequence = position, changed_at = time from event
			where user_id = @user_id and org_id = @org_id and project_id = @project_id
				and @roles::text[] <> '{}'
		), removed as (
			delete from members using event
			where user_id = @user_id and org_id = @org_id and project_id = @project_id and @roles::text[] = '{}'
		)`,
			Args: memberArgs(m),
		}
		endOutranked(&save, m, giver)
		return save
	}
}

// NamedMember is a member with what a list shows of the user. Both names are empty for a user of another organization
// than that of the list.
type NamedMember struct {
	domain.Member
	UserOrgID   string
	UserName    string
	DisplayName string
}

// Members returns a query for the members of an organization, of one of its projects or, with
// both ids empty, of the instance.
func (s Store) Members(orgID, projectID string) *search.Query {
	return search.Select(
		prefixed("m", memberColumns)+`, u.org_id as user_org_id,
			case when m.org_id in ('', u.org_id) then u.user_name else '' end as user_name,
			case when m.org_id in ('', u.org_id) then coalesce(nullif(u.display_name, ''), u.user_name) else '' end
				as display_name`,
		`members m join users u on u.id = m.user_id`, `m.created_at, m.user_id`,
	).Where(`m.org_id = ? and m.project_id = ?`, orgID, projectID)
}

// SearchMembers runs a query of Members.
func (s Store) SearchMembers(
	ctx context.Context, query *search.Query, p search.Page,
) (search.List[NamedMember], error) {
	return search.Read[NamedMember](ctx, s.journal.DB, query, p)
}

// prefixed writes a table's alias before each of its columns.
func prefixed(alias, columns string) string { return postgres.Each(alias+".", columns) }
