package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/idp/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/idpfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const (
	idpColumns = `id, org_id, state, name, client_id, client_secret, tenant_type, tenant_id, email_verified, scopes,
		secret_expires_at, is_linking_allowed, is_creation_allowed, is_auto_creation, is_auto_update, sequence,
		created_at, changed_at`
	readIdp = `select ` + idpColumns + ` from idps where id = @id and org_id is not distinct from @org_id`
	lockIdp = readIdp + ` for update`
)

func idpKey(orgID, id string) postgres.Args { return postgres.Args{"org_id": orgID, "id": id} }

// IdpName is the column that providers are searched by.
var IdpName = search.Column{Exact: "name", Folded: "name_folded"}

// Idp reads a provider of an organization.
func (s Store) Idp(ctx context.Context, orgID, id string) (domain.Idp, error) {
	i, err := postgres.One[domain.Idp](ctx, s.journal.DB, readIdp, idpKey(orgID, id))
	return i, postgres.Missing(err, idpfault.ErrIdpNotFound)
}

// Some returns the providers of an organization with these ids.
func (s Store) Some(ctx context.Context, orgID string, ids []string) ([]domain.Idp, error) {
	return postgres.All[domain.Idp](ctx, s.journal.DB,
		`select `+idpColumns+` from idps where id = any (@ids) and org_id is not distinct from @org_id`,
		postgres.Args{"org_id": orgID, "ids": ids})
}

// mostOffered is how many providers a login page has room for.
const mostOffered = 20

// Offered returns the active providers of an organization, the oldest first.
func (s Store) Offered(ctx context.Context, orgID string) ([]domain.Idp, error) {
	return postgres.All[domain.Idp](ctx, s.journal.DB, `select `+idpColumns+` from idps
		where org_id = @org_id and state = @active order by created_at, id limit @most`,
		postgres.Args{"org_id": orgID, "active": domain.IdpActive, "most": mostOffered})
}

// CreateIdp writes a provider.
func (s Store) CreateIdp(ctx context.Context, i domain.Idp, created proto.Message) (resource.Record, error) {
	return s.journal.Create(ctx, created, event.Statement{
		AggregateID: i.ID, OrganizationID: i.OrgID,
		SQL: `idp as (
			insert into idps (
				id, org_id, state, name, name_folded, client_id, client_secret, tenant_type,
				tenant_id, email_verified, scopes, secret_expires_at, is_linking_allowed, is_creation_allowed,
				is_auto_creation, is_auto_update, sequence, created_at, changed_at)
			select
				@id, @event_organization, @state, @name, @name_folded, @client_id, @client_secret, @tenant_type,
				@tenant_id, @email_verified, @scopes, @secret_expires_at, @is_linking_allowed, @is_creation_allowed,
				@is_auto_creation, @is_auto_update, position, time, time
			from event
		)`,
		Args: idpArgs(i),
	})
}

// idpArgs are the arguments that a creation and a change have in common.
func idpArgs(i domain.Idp) postgres.Args {
	return postgres.Args{
		"id": i.ID, "state": i.State, "name": i.Name, "name_folded": search.Fold(i.Name),
		"client_id": i.ClientID, "client_secret": i.ClientSecret,
		"tenant_type": i.TenantType, "tenant_id": i.TenantID, "email_verified": i.EmailVerified, "scopes": i.Scopes,
		"secret_expires_at":  i.SecretExpiresAt,
		"is_linking_allowed": i.IsLinkingAllowed, "is_creation_allowed": i.IsCreationAllowed,
		"is_auto_creation": i.IsAutoCreation, "is_auto_update": i.IsAutoUpdate,
	}
}

// ChangeIdp locks a provider of an organization, calls change and saves the result.
func (s Store) ChangeIdp(
	ctx context.Context, orgID, id string, change func(*domain.Idp) (proto.Message, error),
) (domain.Idp, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Idp]{
		Lock: lockIdp, Args: idpKey(orgID, id), NotFound: idpfault.ErrIdpNotFound,
		Write: func(i domain.Idp) event.Statement {
			return event.Statement{
				AggregateID: i.ID, OrganizationID: i.OrgID,
				SQL: `idp as (
					update idps set state = @state, name = @name, name_folded = @name_folded,
						client_id = @client_id, client_secret = @client_secret,
						tenant_type = @tenant_type, tenant_id = @tenant_id,
						email_verified = @email_verified, scopes = @scopes, secret_expires_at = @secret_expires_at,
						is_linking_allowed = @is_linking_allowed, is_creation_allowed = @is_creation_allowed,
						is_auto_creation = @is_auto_creation, is_auto_update = @is_auto_update,
						sequence = position, changed_at = time
					from event where id = @id
				)`,
				Args: idpArgs(i),
			}
		},
	}, change)
}

// RemoveIdp removes a provider of an organization with its secret.
func (s Store) RemoveIdp(ctx context.Context, orgID, id string, removed proto.Message) (domain.Idp, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.Idp]{
		Lock: lockIdp, Args: idpKey(orgID, id), NotFound: idpfault.ErrIdpNotFound,
		Write: func(i domain.Idp) event.Statement { return event.Removal("idps", i.ID, i.OrgID) },
	}, func(*domain.Idp) (proto.Message, error) { return removed, nil })
}

// SomeIdps reads some providers of an organization.
func (s Store) SomeIdps(ctx context.Context, orgID string, most int) ([]domain.Idp, error) {
	return postgres.All[domain.Idp](ctx, s.journal.DB, `select `+idpColumns+` from idps
		where org_id = @org_id order by created_at, id limit @most`, postgres.Args{"org_id": orgID, "most": most})
}

// Idps returns a query for the providers of an organization.
func (s Store) Idps(orgID string) *search.Query {
	return search.Select(idpColumns, "idps", "created_at, id").Where("org_id = ?", orgID)
}

// SearchIdps runs a query of Idps.
func (s Store) SearchIdps(ctx context.Context, query *search.Query, p search.Page) (search.List[domain.Idp], error) {
	return search.Read[domain.Idp](ctx, s.journal.DB, query, p)
}
