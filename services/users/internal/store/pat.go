package store

import (
	"context"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/caller"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/resource"
	"herald/shared/search"
)

const patColumns = `p.id, p.user_id, u.org_id, p.name, p.scopes, p.expires_at, p.client_id, p.last_used_at, p.sequence,
	p.created_at, p.changed_at`

const (
	patFrom = `personal_access_tokens p join users u on u.id = p.user_id`
	readPAT = `select ` + patColumns + ` from ` + patFrom +
		` where p.id = @id and u.org_id is not distinct from @org_id and p.user_id is not distinct from @user_id`
)

// CreatePAT adds a token of a user who may have one, as its hash. It calls added with the user.
func (s Store) CreatePAT(
	ctx context.Context, t domain.PAT, hash []byte, added func(*domain.User) NoticedChange,
) (resource.Record, error) {
	return s.createCredential(ctx, t.UserID, newPAT(ctx, t, hash), func(u *domain.User) (NoticedChange, error) {
		return added(u), u.MayHaveTokens()
	})
}

// createCredential adds a credential of a user of the statement's organization. It locks the user, so
// that no credential is added after the user was deactivated or locked.
func (s Store) createCredential(
	ctx context.Context, userID string, create event.Statement, may func(*domain.User) (NoticedChange, error),
) (resource.Record, error) {
	var made NoticedChange
	u, err := event.Change(ctx, s.journal, event.Locked[domain.User]{
		Lock: readUser + ` for share`, Args: postgres.Args{"org_id": create.OrganizationID, "id": userID},
		NotFound: usersfault.ErrUserNotFound,
		Write: func(domain.User) event.Statement {
			noted := create
			noted.Args = maps.Clone(create.Args)
			made.save(&noted, userID)
			return noted
		},
	}, func(u *domain.User) (_ proto.Message, err error) {
		made, err = may(u)
		return made.Event, err
	})
	return resource.Record{Sequence: u.Sequence, CreatedAt: u.ChangedAt, ChangedAt: u.ChangedAt}, err
}

func newPAT(ctx context.Context, t domain.PAT, hash []byte) event.Statement {
	return event.Statement{
		AggregateID: t.ID, OrganizationID: t.OrgID,
		SQL: `pat as (
			insert into personal_access_tokens (
				id, user_id, hash, name, scopes, expires_at, makers, client_id, authorizations, sequence,
				created_at, changed_at)
			select @id, @user_id, @hash, @name, @scopes, @expires_at, ` + makers + `, @client_id,
				` + authorizations + `, position, time, time
			from event
		)`,
		Args: madeBy(ctx, t.UserID, postgres.Args{"id": t.ID, "user_id": t.UserID, "hash": hash, "name": t.Name,
			"scopes": t.Scopes, "expires_at": t.ExpiresAt}),
	}
}

// PAT reads a user's token.
func (s Store) PAT(ctx context.Context, orgID, userID, id string) (domain.PAT, error) {
	t, err := postgres.One[domain.PAT](ctx, s.journal.DB, readPAT,
		postgres.Args{"org_id": orgID, "user_id": userID, "id": id})
	return t, postgres.Missing(err, usersfault.ErrPATNotFound)
}

// RemovePAT removes a user's token.
func (s Store) RemovePAT(ctx context.Context, orgID, userID, id string, removed proto.Message) (domain.PAT, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.PAT]{
		Lock: readPAT + ` for update of p`, Args: postgres.Args{"org_id": orgID, "user_id": userID, "id": id},
		NotFound: usersfault.ErrPATNotFound,
		Write: func(t domain.PAT) event.Statement {
			return event.Removal("personal_access_tokens", t.ID, t.OrgID)
		},
	}, func(*domain.PAT) (proto.Message, error) { return removed, nil })
}

// SearchPATs lists a user's tokens.
func (s Store) SearchPATs(ctx context.Context, orgID, userID string, p search.Page) (search.List[domain.PAT], error) {
	return search.Read[domain.PAT](ctx, s.journal.DB, search.Select(patColumns, patFrom, "p.created_at, p.id").
		Where("u.org_id = ?", orgID).Where("p.user_id = ?", userID), p)
}

// UsePAT stores that a token is used now, to a minute.
func (s Store) UsePAT(ctx context.Context, hash []byte) error {
	_, err := s.journal.DB.Exec(ctx, `update personal_access_tokens set last_used_at = @now
		where hash = @hash and (last_used_at is null or last_used_at < @now::timestamptz - interval '1 minute')`,
		postgres.Args{"hash": hash, "now": s.Now()})
	return postgres.Fault(err)
}

// Holder is the user of a token, with one of the user's memberships in the requested organization or
// on the instance.
type Holder struct {
	TokenID   string
	ClientID  string // the application that made the token; empty if none did
	UserID    string
	HomeOrgID string
	UserState domain.UserState
	HomeState domain.OrgState
	Scopes    []string
	ExpiresAt time.Time
	// RequestedID is the requested organization. RequestedState is nil if it does not exist.
	RequestedID    string
	RequestedState *domain.OrgState
	// Place and Project are the membership's organization and project; nil without a membership.
	Place   *string
	Project *string
	Roles   []string
}

// Memberships returns the row's membership, or nothing in the one row of a holder without any.
func (h Holder) Memberships() []caller.Membership {
	if h.Place == nil {
		return nil
	}
	return []caller.Membership{{OrganizationID: *h.Place, ProjectID: *h.Project, Roles: h.Roles}}
}

// Holders returns the user of a personal access token by its hash: a row for each membership, and no row for an unknown
// token. An empty orgID is the user's own organization.
func (s Store) Holders(ctx context.Context, hash []byte, orgID string) ([]Holder, error) {
	return s.holders(ctx, `personal_access_tokens`, `p.hash = @hash`, postgres.Args{"hash": hash, "org_id": orgID})
}

// CheckedHolders does the same for the user of a token of a login. It returns no row if the user, the credential or an
// organization has changed since the token was issued.
func (s Store) CheckedHolders(ctx context.Context, c domain.CheckedSubject, orgID string) ([]Holder, error) {
	return s.holders(ctx, checkedSubject, `true`, postgres.Args{
		"user_id": c.UserID, "generation": c.Generation, "credential": c.Credential, "org_ids": c.OrgIDs,
		"org_generations": c.OrgGenerations, "org_active": domain.OrgActive, "now": s.Now(), "org_id": orgID,
		"no_manager": c.NoManager,
	})
}

// UserHolders does the same for a user by id.
func (s Store) UserHolders(ctx context.Context, userID, orgID string) ([]Holder, error) {
	return s.holders(ctx, `(select '' as id, '' as client_id, @user_id::text as user_id, '{}'::text[] as scopes,
			now() as expires_at)`, `true`, postgres.Args{"user_id": userID, "org_id": orgID})
}

// holders does not read roles on projects if a role on the organization or the instance has all their permissions,
// because there may be thousands.
func (s Store) holders(ctx context.Context, tokens, where string, args postgres.Args) ([]Holder, error) {
	args["above_in_instance"] = caller.AboveProjects(caller.Instance)
	args["above_in_org"] = caller.AboveProjects(caller.Organization)
	return postgres.All[Holder](ctx, s.journal.DB, `select
			p.id as token_id, p.client_id, u.id as user_id, u.org_id as home_org_id, u.state as user_state,
			o.state as home_state, p.scopes, p.expires_at, requested.id as requested_id, a.state as requested_state,
			m.org_id as place, m.project_id as project, m.roles
		from `+tokens+` p
		join users u on u.id = p.user_id
		join organizations o on o.id = u.org_id
		cross join lateral (select coalesce(nullif(@org_id, ''), u.org_id) as id) requested
		left join organizations a on a.id = requested.id and a.state <> org_removed()
		left join lateral (
			select w.org_id, w.project_id, w.roles from active_members w
				where w.user_id = u.id and w.org_id in ('', requested.id) and w.project_id = ''
			union all
			select w.org_id, w.project_id, w.roles from active_members w
			where w.user_id = u.id and w.org_id = requested.id
				and w.project_id <> '' and not exists (
				select from active_members c where c.user_id = u.id and c.project_id = '' and (
					c.org_id = '' and c.roles && @above_in_instance or c.org_id = requested.id
						and c.roles && @above_in_org))
		) m on true
		where `+where, args)
}
