package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/text/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/textfault"
	"herald/shared/postgres"
)

const brandingColumns = `primary_color, support_email, logo_hash, sequence, created_at, changed_at`

// Branding returns an organization's branding. If it has none, it returns the record of Beginning.
func (s Store) Branding(ctx context.Context, orgID string) (domain.Branding, error) {
	b, err := postgres.One[domain.Branding](ctx, s.journal.DB, `select
		coalesce(b.primary_color, '') as primary_color, coalesce(b.support_email, '') as support_email,
		coalesce(b.logo_hash, '') as logo_hash,
		coalesce(b.sequence, 0) as sequence, coalesce(b.created_at, f.time) as created_at,
		coalesce(b.changed_at, f.time) as changed_at
		from first_start f left join brandings b on b.org_id = @org_id`, postgres.Args{"org_id": orgID})
	return b, postgres.Fault(err)
}

// Logo returns an organization's logo. It returns textfault.ErrLogoNotFound if the organization has no logo with that
// hash.
func (s Store) Logo(ctx context.Context, orgID, hash string) (domain.Logo, error) {
	l, err := postgres.One[domain.Logo](ctx, s.journal.DB, `select logo as image, logo_type as media_type
		from brandings where org_id = @org_id and logo_hash = @hash and logo_hash != ''`,
		postgres.Args{"org_id": orgID, "hash": hash})
	return l, postgres.Missing(err, textfault.ErrLogoNotFound)
}

// SetBranding locks an organization's branding, which may not exist yet, calls change and saves the result. It removes
// the branding if it is empty after the change.
func (s Store) SetBranding(
	ctx context.Context, orgID string, change func(*domain.Branding) (proto.Message, error),
) (domain.Branding, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Branding]{
		// The row is inserted here, so that the event gets its position under the row's lock. Without
		// a change the transaction is rolled back.
		Lock: `insert into brandings as b (org_id, sequence, created_at, changed_at)
			select @org_id, 0, time, time from first_start
			on conflict (org_id) do update set org_id = b.org_id returning ` + brandingColumns,
		Args: postgres.Args{"org_id": orgID},
		Write: func(b domain.Branding) event.Statement {
			if b.IsDefault() {
				return removedBranding(orgID)
			}
			args := postgres.Args{
				"org_id": orgID, "color": b.PrimaryColor, "support": b.SupportEmail, "hash": b.LogoHash, "type": nil,
				"logo": nil,
			}
			if b.Logo != nil {
				args["type"], args["logo"] = b.Logo.MediaType, b.Logo.Image
			}
			return event.Statement{
				AggregateID: orgID, OrganizationID: orgID,
				SQL: `branding as (
					update brandings set primary_color = @color, support_email = @support, logo_hash = @hash,
						logo_type = coalesce(@type::text, logo_type), logo = coalesce(@logo::bytea, logo),
						sequence = position, created_at = case sequence when 0 then time else created_at end,
						changed_at = time
					from event where org_id = @org_id
				)`,
				Args: args,
			}
		},
	}, change)
}

// ResetBranding locks and removes an organization's branding.
func (s Store) ResetBranding(
	ctx context.Context, orgID string, change func(*domain.Branding) (proto.Message, error),
) (domain.Branding, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Branding]{
		Lock: `select ` + brandingColumns + ` from brandings where org_id = @org_id for update`,
		Args: postgres.Args{"org_id": orgID}, NotFound: textfault.ErrBrandingNotFound,
		Write: func(domain.Branding) event.Statement { return removedBranding(orgID) },
	}, change)
}

func removedBranding(orgID string) event.Statement {
	return event.Statement{
		AggregateID: orgID, OrganizationID: orgID,
		SQL:  `removed as (delete from brandings using event where org_id = @org_id)`,
		Args: postgres.Args{"org_id": orgID},
	}
}
