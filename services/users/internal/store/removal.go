package store

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// ofUsers selects the events of the objects that are removed with their users. Codes and metadata
// have no events.
const ofUsers = `
	select 'pat', 'removed', p.id, u.org_id, jsonb_build_object('userId', u.id)
		from personal_access_tokens p join users u on u.id = p.user_id where u.id = any (@ids)
	union all
	select 'machine_key', 'removed', k.id, u.org_id, jsonb_build_object('userId', u.id)
		from machine_keys k join users u on u.id = k.user_id where u.id = any (@ids)
	union all
	select 'member', 'removed', m.user_id, m.org_id, jsonb_build_object(
			'userId', m.user_id, 'projectId', m.project_id, 'instance', m.org_id = '')
		from members m where m.user_id = any (@ids)
	union all
	select 'otp', 'removed', f.user_id, u.org_id, jsonb_build_object()
		from otp_factors f join users u on u.id = f.user_id where u.id = any (@ids)
	union all
	select distinct 'idp_link', 'removed', u.id, u.org_id, jsonb_build_object('idpId', l.idp_id)
		from user_idp_links l join users u on u.id = l.user_id where u.id = any (@ids)`

// gone removes users with everything that belongs to them, and stores their ids, which no other
// user can get.
const gone = `gone as (
		delete from users u using event where u.id = any (@ids)
	), remembered as (
		insert into removed_users (id) select id from event, unnest(@ids::text[]) id on conflict do nothing
	), forgotten as (
		delete from password_tries t using event where t.user_id = any (@ids)
	)`

// RemoveUser removes a user of an organization.
func (s Store) RemoveUser(ctx context.Context, orgID, id string, removed proto.Message) (domain.User, error) {
	return event.Change(ctx, s.journal, event.Locked[domain.User]{
		Lock: readUser + ` for update`, Args: postgres.Args{"org_id": orgID, "id": id},
		NotFound: usersfault.ErrUserNotFound,
		Write: func(u domain.User) event.Statement {
			return event.Statement{
				AggregateID: u.ID, OrganizationID: u.OrgID, Along: ofUsers, SQL: gone,
				Args: postgres.Args{"ids": []string{u.ID}},
			}
		},
	}, func(*domain.User) (proto.Message, error) { return removed, nil })
}

// RemoveOrg makes an organization removed, which no other method finds. Its objects are removed
// later. It refuses the same callers as EndLogins.
func (s Store) RemoveOrg(ctx context.Context, id string, removed proto.Message) (domain.Org, error) {
	l := lockOrg(id)
	l.Check = guardOrg(ctx, id)
	return event.Change(ctx, s.journal, l, func(o *domain.Org) (proto.Message, error) {
		o.Remove()
		return removed, nil
	})
}

// SomeUsers returns the ids of at most so many users of an organization.
func (s Store) SomeUsers(ctx context.Context, orgID string, most int) (ids []string, err error) {
	err = s.journal.DB.QueryRow(ctx, `select array(select id from users where org_id = @org_id
		order by created_at, id limit @most)`, postgres.Args{"org_id": orgID, "most": most}).Scan(&ids)
	return ids, postgres.Fault(err)
}

// SomeMembers returns at most so many members of an organization and its projects.
func (s Store) SomeMembers(ctx context.Context, orgID string, most int) ([]domain.Member, error) {
	return postgres.All[domain.Member](ctx, s.journal.DB, `select `+memberColumns+` from members
		where org_id = @org_id order by project_id, created_at, user_id limit @most`,
		postgres.Args{"org_id": orgID, "most": most})
}

// ForgetOrg deletes the row of a removed organization without users, and stores its id, which no
// other organization can get.
func (s Store) ForgetOrg(ctx context.Context, id string) error {
	_, err := s.journal.DB.Exec(ctx, `with gone as (
			delete from organizations where id = @id and state = org_removed()
				and not exists (select from users where org_id = @id) returning id
		)
		insert into removed_organizations (id) select id from gone`, postgres.Args{"id": id})
	return postgres.Fault(err)
}
