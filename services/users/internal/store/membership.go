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

// IdentifiedMember is a member with the id that the lists of a user's memberships have.
type IdentifiedMember struct {
	domain.Member
	ID string
}

const membershipFrom = `members m join users u on u.id = m.user_id`

// SearchMemberships returns the memberships of a user of an organization, in any place.
func (s Store) SearchMemberships(
	ctx context.Context, orgID, userID string, p search.Page,
) (search.List[IdentifiedMember], error) {
	return search.Read[IdentifiedMember](ctx, s.journal.DB,
		search.Select(prefixed("m", memberColumns)+", m.id", membershipFrom, "m.created_at, m.org_id, m.project_id").
			Where("u.org_id = ?", orgID).Where("m.user_id = ?", userID), p)
}

// RemoveMembership ends a membership of a user of an organization, in any place.
func (s Store) RemoveMembership(
	ctx context.Context, orgID, userID, id string, removed func(domain.Member) proto.Message,
) (domain.Member, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Member]{
		Lock: `select ` + prefixed("m", memberColumns) + ` from ` + membershipFrom + `
			where m.id = @id and m.user_id is not distinct from @user_id and u.org_id is not distinct from @org_id
			for update of m`,
		Args:     postgres.Args{"id": id, "user_id": userID, "org_id": orgID},
		NotFound: usersfault.ErrMemberNotFound,
		Write: func(m domain.Member) event.Statement {
			s := event.Removal("members", id, m.OrgID)
			s.AggregateID = m.UserID
			return s
		},
	}, func(m *domain.Member) (proto.Message, error) { return removed(*m), nil })
}
