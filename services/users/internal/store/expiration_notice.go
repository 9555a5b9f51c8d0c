package store

import (
	"context"
	"fmt"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/mailer"
	"herald/shared/postgres"
	"herald/shared/search"
)

// mostNoticed is the largest number of owners of an organization who get a mail about it, the first owners first.
const mostNoticed = 20

// noticeable is an SQL condition: a user u of the organization h may get mails about the organization o.
var noticeable = fmt.Sprintf(`u.type = %d and u.state = %d and u.email_verified and not u.uninitialized
	and h.state = %[3]d and o.state = %[3]d`, domain.Human, domain.UserActive, domain.OrgActive)

// ownsOrg is an SQL condition: the membership m makes its user an owner of its organization.
const ownsOrg = `m.project_id = '' and 'ORG_OWNER' = any (m.roles)`

// RequestExpirationNotices requests the mails to those whom it concerns that something ends soon. The token of a person
// concerns that person, and everything else the owners of the organization. userID is the user with the token; it is
// empty for what is no token.
//
// A mail lists all that ends soon, also what is announced on the day after it. So each user gets at most one mail of
// an organization a day, and an announcement that comes again requests none.
func (s Store) RequestExpirationNotices(ctx context.Context, announced event.Delivery, userID string) error {
	_, err := s.journal.FollowLocked(ctx, announced, event.Lock{
		SQL: `with person as (
				select id as user_id, created_at from users where id = @user_id and type = @human
			), concerned as (
				select * from person union all
				select m.user_id, m.created_at from active_members m where m.org_id = @org_id and ` + ownsOrg + `
					and not exists (select from person)
			)
			insert into expiration_notices as n (user_id, org_id, noticed_at)
			select u.id, o.id, greatest(@now::timestamptz, @announced::timestamptz) from (
				select u.id from concerned c join users u on u.id = c.user_id join organizations h on h.id = u.org_id
					join organizations o on o.id = @org_id
				where ` + noticeable + ` order by c.created_at, u.id limit @most
			) u join organizations o on o.id = @org_id order by u.id
			on conflict (user_id, org_id) do update set noticed_at = excluded.noticed_at
				where n.noticed_at <= @announced::timestamptz - @covered::interval
			returning user_id`,
		Args: postgres.Args{
			"org_id": announced.OrganizationID, "user_id": userID, "now": s.journal.Now(), "announced": announced.Time,
			"covered": domain.ExpirationsNoticed, "human": domain.Human, "most": mostNoticed,
		},
	}, event.Statement{
		Along: `select 'human', 'expiration_notice_requested', u.id, u.org_id,
				jsonb_build_object('notice', @notice::text, 'aboutOrgId', @org_id::text)
			from users u where u.id = any (@locked)`,
		SQL: `noticed as (
			insert into notices (id, user_id, recipient, verified, own, time, about_org_id)
			select along.id || @of_notice::text, u.id, u.email, true, false, along.time, @org_id
			from along join users u on u.id = along.aggregate_id
		)`,
		Args: postgres.Args{
			"org_id": announced.OrganizationID, "notice": domain.KindExpiring, "of_notice": mailer.OfNotice,
		},
	})
	return err
}

// ExpirationsFor returns what of this service expires soon and concerns a person: their own tokens, and for an owner of
// the organization the keys and tokens of its machine users.
func (s Store) ExpirationsFor(
	ctx context.Context, userID string, owner bool, now time.Time, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	q := search.Expiring(Expiring, now, r).
		Where("(owner_id = ? or ? and exists (select from users u where u.id = owner_id and u.type = ?))",
			userID, owner, domain.Machine)
	return search.Expirations(ctx, s.journal.DB, q, r)
}
