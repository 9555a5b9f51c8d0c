package store

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
)

// Instance is the objects that the first start makes.
type Instance struct {
	Org           domain.Org
	Administrator domain.User
	PAT           domain.PAT
	PATHash       []byte
}

// InstanceEvents are the events of these objects in the order of the fields.
type InstanceEvents struct{ Org, Administrator, Member, PAT proto.Message }

// Started reports whether there has been a first start.
func (s Store) Started(ctx context.Context) (started bool, err error) {
	err = s.journal.DB.QueryRow(ctx, `select exists (select from instance)`).Scan(&started)
	return started, postgres.Fault(err)
}

// CreateInstance writes an instance's first organization and its administrator in one transaction. It
// returns ErrInstanceExists if they exist.
func (s Store) CreateInstance(ctx context.Context, i Instance, e InstanceEvents) error {
	member := newMember(domain.Member{
		UserID: i.Administrator.ID, Roles: []string{"IAM_OWNER"}, State: domain.MembershipActive,
	})
	member.Also(`instance as (insert into instance (org_id, administrator) select @instance_org, @user_id from event)`,
		postgres.Args{"instance_org": i.Org.ID})
	err := s.journal.CreateAll(ctx, []event.Entry{
		{Message: e.Org, Statement: newOrg(i.Org, "")},
		{Message: e.Administrator, Statement: newUser(ctx, NewUser{User: i.Administrator})},
		{Message: e.Member, Statement: member},
		{Message: e.PAT, Statement: newPAT(ctx, i.PAT, i.PATHash)},
	})
	if errors.Is(err, usersfault.ErrOrgNameTaken) || errors.Is(err, usersfault.ErrOrgDomainTaken) {
		return usersfault.ErrInstanceExists
	}
	return err
}

// FirstOrg returns the id of the organization that the first start made, or "" if it is not active or was removed.
func (s Store) FirstOrg(ctx context.Context) (id string, err error) {
	const first = `select coalesce((select o.id from instance i join organizations o on o.id = i.org_id
		where o.state = @active), '')`
	err = s.journal.DB.QueryRow(ctx, first, postgres.Args{"active": domain.OrgActive}).Scan(&id)
	return id, postgres.Fault(err)
}

// AddAdministrator writes another administrator of the instance in one transaction, with an organization if the event
// of one is given.
func (s Store) AddAdministrator(ctx context.Context, i Instance, e InstanceEvents) error {
	entries := []event.Entry{
		{Message: e.Administrator, Statement: newUser(ctx, NewUser{User: i.Administrator})},
		{Message: e.Member, Statement: newMember(domain.Member{
			UserID: i.Administrator.ID, Roles: []string{"IAM_OWNER"}, State: domain.MembershipActive,
		})},
	}
	if e.Org != nil {
		entries = append([]event.Entry{{Message: e.Org, Statement: newOrg(i.Org, "")}}, entries...)
	}
	return s.journal.CreateAll(ctx, entries)
}

// KnownToken reports whether a token of a user has this hash.
func (s Store) KnownToken(ctx context.Context, hash []byte) (known bool, err error) {
	err = s.journal.DB.QueryRow(ctx, `select exists (select from personal_access_tokens where hash = @hash)`,
		postgres.Args{"hash": hash}).Scan(&known)
	return known, postgres.Fault(err)
}
