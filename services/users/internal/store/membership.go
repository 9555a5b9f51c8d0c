package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/search"
)

// IdentifiedMember is a member with what only the lists of a user's memberships have: its id, and the name of the
// organization that gave the roles.
type IdentifiedMember struct {
	domain.Member
	ID      string
	OrgName string
}

const membershipFrom = `members m join users u on u.id = m.user_id`

// SearchMemberships returns the memberships of a user of an organization, in any place.
func (s Store) SearchMemberships(
	ctx context.Context, orgID, userID string, p search.Page,
) (search.List[IdentifiedMember], error) {
	return search.Read[IdentifiedMember](ctx, s.journal.DB,
		search.Select(prefixed("m", memberColumns)+", m.id, coalesce(o.name, '') as org_name",
			membershipFrom+" left join organizations o on o.id = m.org_id", "m.created_at, m.org_id, m.project_id").
			Where("u.org_id = ?", orgID).Where("m.user_id = ?", userID), p)
}

// ChangeMembership does the same as ChangeMember for a membership of a user of an organization, in any place.
func (s Store) ChangeMembership(
	ctx context.Context, orgID, userID, id string, change func(*domain.Member) (proto.Message, error),
) (domain.Member, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Member]{
		LockFirst: lockReceiver(userID),
		Lock: `select ` + prefixed("m", memberColumns) + ` from ` + membershipFrom + `
			where m.id = @id and m.user_id is not distinct from @user_id and u.org_id is not distinct from @org_id
			for update of m`,
		Args:     postgres.Args{"id": id, "user_id": userID, "org_id": orgID},
		NotFound: usersfault.ErrMemberNotFound, Write: saveMember(ctx),
	}, change)
}
