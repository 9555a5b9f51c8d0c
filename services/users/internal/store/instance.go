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

// KnownToken reports whether a token of a user has this hash.
func (s Store) KnownToken(ctx context.Context, hash []byte) (known bool, err error) {
	err = s.journal.DB.QueryRow(ctx, `select exists (select from personal_access_tokens where hash = @hash)`,
		postgres.Args{"hash": hash}).Scan(&known)
	return known, postgres.Fault(err)
}
