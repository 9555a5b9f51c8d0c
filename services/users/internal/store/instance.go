package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/shared/event"
	"herald/shared/fault"
	"herald/shared/postgres"
)

// ErrStarted says that another replica made the first start.
var ErrStarted = fault.New(fault.Exists, "INSTANCE_EXISTS", "The instance exists already")

// Instance is what the first start makes.
type Instance struct {
	Org           domain.Org
	Administrator domain.User
	PAT           domain.PAT
	PATHash       []byte
}

// InstanceEvents are the events of its parts, in the order of the fields; the
// membership's comes before the token's.
type InstanceEvents struct{ Org, Administrator, Member, PAT proto.Message }

// Administrator reads the user that the first start made; false before it.
func (s Store) Administrator(ctx context.Context) (domain.User, bool, error) {
	u, err := postgres.One[domain.User](ctx, s.DB, `select `+prefixed("u", userColumns)+` from instance i join users u on u.id = i.administrator`)
	if errors.Is(err, pgx.ErrNoRows) {
		return domain.User{}, false, nil
	}
	return u, err == nil, postgres.Fault(err)
}

// CreateInstance writes an instance's first organization and its administrator, all
// or nothing. ErrStarted where there is one.
func (s Store) CreateInstance(ctx context.Context, i Instance, e InstanceEvents) error {
	member := newMember(domain.Member{UserID: i.Administrator.ID, Roles: []string{"IAM_OWNER"}})
	member.Also(`instance as (insert into instance (org_id, administrator) select ?, ? from event)`, i.Org.ID, i.Administrator.ID)
	member.Constraints = map[string]*fault.Fault{"instance_pkey": ErrStarted}
	org := newOrg(i.Org, "")
	org.Constraints = map[string]*fault.Fault{"organizations_name": ErrStarted, "organizations_primary_domain": ErrStarted}
	return s.CreateAll(ctx, []event.Creation{
		{Message: e.Org, Save: org},
		{Message: e.Administrator, Save: newUser(NewUser{User: i.Administrator})},
		{Message: e.Member, Save: member},
		{Message: e.PAT, Save: newPAT(i.PAT, i.PATHash)},
	})
}

// KnownToken tells whether a token of a user has this hash.
func (s Store) KnownToken(ctx context.Context, hash []byte) (known bool, err error) {
	err = s.DB.QueryRow(ctx, `select exists (select from personal_access_tokens where hash = $1)`, hash).Scan(&known)
	return known, postgres.Fault(err)
}
