// Package onbehalf lets a page call the API as the person whose session the browser has. It is the only place in the
// service that signs callers, and it does so for a session only.
package onbehalf

import (
	"context"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// Signer signs callers.
type Signer struct {
	users  usersv1.InternalClient
	signer caller.Signer
}

// New returns a Signer with keys that all services share.
func New(users usersv1.InternalClient, keys secret.Keys, now func() time.Time) Signer {
	return Signer{users, caller.NewSigner(keys, now)}
}

// Person is a person who has logged in, as a caller of methods.
type Person struct {
	caller caller.Caller
	header string
}

// Subject returns what the service users compares with the current user and organization of a session.
func Subject(s domain.Session) *usersv1.CheckedSubject {
	return &usersv1.CheckedSubject{
		UserId: s.UserID, Generation: uint64(s.UserGeneration), Credential: s.Credential,
		Orgs: []*usersv1.CheckedOrg{{Id: s.OrgID, Generation: uint64(s.OrgGeneration)}},
	}
}

// As returns the person of a session. The service users compares the generations and the credential of the session with
// the current ones, so that an id alone is not enough. As returns fault.ErrTokenInvalid if the session is not valid any
// more. The person has no role, because no page needs one.
func (a Signer) As(ctx context.Context, s domain.Session) (Person, error) {
	found, err := a.users.ResolveCaller(ctx, &usersv1.ResolveCallerRequest{Subject: Subject(s)})
	if err != nil {
		return Person{}, err
	}
	c := caller.FromProto(found.Caller)
	c.Memberships, c.TokenID = nil, ""
	c.Scopes, c.AuthenticatedAt, c.Credential = domain.ScopesOfPages(), s.AuthTime, s.Credential
	return Person{c, a.signer.Sign(c)}, nil
}

// In returns a context for calls and changes that the person makes.
func (p Person) In(ctx context.Context) context.Context {
	return rpc.WithSigned(caller.With(ctx, p.caller), p.header)
}
