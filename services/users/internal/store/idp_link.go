package store

import (
	"context"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/search"
)

const (
	idpLinkColumns = `l.user_id, u.org_id, l.idp_id, l.external_user_id, l.tenant_id, l.display_name, l.sequence,
		l.created_at, l.changed_at`
	idpLinkFrom = `user_idp_links l join users u on u.id = l.user_id`
)

func idpLinkArgs(links []domain.IdpLink) postgres.Args {
	return postgres.Args{
		"idp_ids":           search.Each(links, func(l domain.IdpLink) string { return l.IdpID }),
		"external_user_ids": search.Each(links, func(l domain.IdpLink) string { return l.ExternalUserID }),
		"tenant_ids":        search.Each(links, func(l domain.IdpLink) string { return l.TenantID }),
		"external_names":    search.Each(links, func(l domain.IdpLink) string { return l.DisplayName }),
	}
}

// SearchIdpLinks lists the accounts at identity providers of a user of an organization.
func (s Store) SearchIdpLinks(
	ctx context.Context, orgID, userID string, p search.Page,
) (search.List[domain.IdpLink], error) {
	const order = "l.created_at, l.idp_id, l.external_user_id"
	return search.Read[domain.IdpLink](ctx, s.journal.DB, search.Select(idpLinkColumns, idpLinkFrom, order).
		Where("u.org_id = ?", orgID).Where("l.user_id = ?", userID), p)
}

// RemoveIdpLink removes a link of a user of an organization. key has the organization, user and
// account.
func (s Store) RemoveIdpLink(ctx context.Context, key domain.IdpLink, removed proto.Message) (domain.IdpLink, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.IdpLink]{
		Lock: `select ` + idpLinkColumns + ` from ` + idpLinkFrom + `
			where l.idp_id = @idp_id and l.external_user_id = @external_user_id
				and l.user_id is not distinct from @user_id and u.org_id is not distinct from @org_id
			for no key update of u for update of l`,
		Args: postgres.Args{
			"org_id": key.OrgID, "user_id": key.UserID, "idp_id": key.IdpID, "external_user_id": key.ExternalUserID,
		},
		NotFound: usersfault.ErrIdpLinkNotFound,
		Write: func(l domain.IdpLink) event.Statement {
			return event.Statement{
				AggregateID: l.UserID, OrganizationID: l.OrgID,
				SQL: `removed as (
					delete from user_idp_links using event
					where idp_id = @idp_id and external_user_id = @external_user_id
				)`,
				Args: postgres.Args{"idp_id": l.IdpID, "external_user_id": l.ExternalUserID},
			}
		},
	}, func(*domain.IdpLink) (proto.Message, error) { return removed, nil })
}

// AddIdpLink links a user to an account if may returns nil. It locks the user, so that the login that allows it does
// not end in the meantime and links are counted correctly.
func (s Store) AddIdpLink(
	ctx context.Context, l domain.IdpLink, may func(*domain.User) (NoticedChange, error),
) (domain.User, error) {
	var made NoticedChange
	return event.Change(ctx, s.journal, event.Locked[domain.User]{
		Lock:     readUser + ` for no key update`,
		Args:     postgres.Args{"org_id": l.OrgID, "id": l.UserID},
		NotFound: usersfault.ErrUserNotFound,
		Write: func(domain.User) event.Statement {
			add := event.Statement{
				AggregateID: l.UserID, OrganizationID: l.OrgID, Unless: usersfault.ErrIdpLinkLimit,
				If: `(select count(*) from user_idp_links where user_id = @user_id) <
					(select most from quota_of(@quota, @org_id))`,
				SQL: `idp_link as (
					insert into user_idp_links (user_id, idp_id, external_user_id, tenant_id, display_name, makers,
						sequence, created_at, changed_at)
					select @user_id, @idp_id, @external_user_id, @tenant_id, @display_name, ` + makers + `,
						position, time, time
					from event
				)`,
				Args: postgres.Args{"user_id": l.UserID, "idp_id": l.IdpID, "external_user_id": l.ExternalUserID,
					"tenant_id": l.TenantID, "display_name": l.DisplayName, "made_with": madeWith(ctx),
					"quota": quota.IdpLinks, "org_id": l.OrgID},
			}
			made.save(&add, l.UserID)
			return add
		},
	}, func(u *domain.User) (_ proto.Message, err error) {
		made, err = may(u)
		return made.Event, err
	})
}

// mostUnlinked is the maximum number of users whose links are removed in one transaction.
const mostUnlinked = 1000

// RemoveIdpLinks removes all links to the provider whose removal was delivered.
func (s Store) RemoveIdpLinks(ctx context.Context, removed event.Delivery) error {
	if err := s.refuseIdp(ctx, removed.AggregateID); err != nil {
		return err
	}
	for {
		var more bool
		if err := s.journal.DB.QueryRow(ctx, `select exists (select from user_idp_links where idp_id = @idp_id)`,
			postgres.Args{"idp_id": removed.AggregateID}).Scan(&more); err != nil || !more {
			return postgres.Fault(err)
		}
		if err := s.journal.Follow(ctx, removed, event.Statement{
			Along: `select 'idp_link', 'removed', u.id, u.org_id, jsonb_build_object('idpId', @idp_id::text)
				from users u where u.id in (select user_id from user_idp_links where idp_id = @idp_id limit @most)`,
			SQL: `gone as (
				delete from user_idp_links l using along
				where l.idp_id = @idp_id and l.user_id = along.aggregate_id
			)`,
			Args: postgres.Args{"idp_id": removed.AggregateID, "most": mostUnlinked},
		}); err != nil {
			return err
		}
	}
}

// refuseIdp waits for links to the provider that are just being written, and makes later ones fail.
func (s Store) refuseIdp(ctx context.Context, idpID string) error {
	return postgres.Fault(pgx.BeginFunc(ctx, s.journal.DB, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `lock table user_idp_links in share mode`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into removed_idps (id) values (@id) on conflict do nothing`,
			postgres.Args{"id": idpID})
		return err
	}))
}
