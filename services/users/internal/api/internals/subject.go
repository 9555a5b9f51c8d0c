// Package internals answers the requests of the service Internal. Go gives the name internal another meaning.
package internals

import (
	"context"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/search"
)

// Server implements the service.
type Server struct {
	base.Base
	// Projects calls the service projects.
	Projects projectsv1.InternalClient
}

// ResolveToken returns the caller with a personal access token. The fault does not show whether an organization exists
// in which the caller has no role.
func (s Server) ResolveToken(
	ctx context.Context, r *usersv1.ResolveTokenRequest,
) (*usersv1.ResolveTokenResponse, error) {
	rows, err := s.Store.Holders(ctx, r.TokenHash, r.OrgId)
	if err != nil {
		return nil, err
	}
	found, err := s.callerOf(rows, r.OrgId)
	if err == nil {
		_ = s.Store.UsePAT(ctx, r.TokenHash) // a token also works while the database cannot write
	}
	return found, err
}

// ResolveCaller does the same for the user of a token that the service auth issued. The caller has no scopes, because
// auth knows them.
func (s Server) ResolveCaller(
	ctx context.Context, r *usersv1.ResolveCallerRequest,
) (*usersv1.ResolveTokenResponse, error) {
	checked := domain.CheckedSubject{UserID: r.Subject.GetUserId(), Generation: int64(r.Subject.GetGeneration()),
		Credential: r.Subject.GetCredential(), NoManager: r.Subject.GetNoManager()}
	for _, o := range r.Subject.GetOrgs() {
		checked.OrgIDs = append(checked.OrgIDs, o.Id)
		checked.OrgGenerations = append(checked.OrgGenerations, int64(o.Generation))
	}
	rows, err := s.Store.CheckedHolders(ctx, checked, r.OrgId)
	if err != nil {
		return nil, err
	}
	return s.callerOf(rows, r.OrgId)
}

func (s Server) callerOf(rows []store.Holder, orgID string) (*usersv1.ResolveTokenResponse, error) {
	if len(rows) == 0 {
		return nil, fault.ErrTokenInvalid
	}
	h := rows[0]
	if h.UserState != domain.UserActive || h.HomeState != domain.OrgActive || !s.Now().Before(h.ExpiresAt) {
		return nil, fault.ErrTokenInvalid
	}
	c := caller.Caller{UserID: h.UserID, OrganizationID: h.RequestedID, HomeOrganizationID: h.HomeOrgID,
		Scopes: h.Scopes, TokenID: h.TokenID, ClientID: h.ClientID}
	for _, row := range rows {
		c.Memberships = append(c.Memberships, row.Memberships()...)
	}
	switch instance := c.InInstance(); {
	case h.RequestedState == nil && instance:
		return nil, usersfault.ErrOrgNotFound
	case h.RequestedState == nil, h.RequestedID != h.HomeOrgID && len(c.Memberships) == 0,
		*h.RequestedState != domain.OrgActive && !instance:
		return nil, rpc.Denied("membership", orgID)
	}
	return &usersv1.ResolveTokenResponse{Caller: c.Proto()}, nil
}

// ResolveSubject returns a user for whom tokens are issued, and organizations.
func (s Server) ResolveSubject(
	ctx context.Context, r *usersv1.ResolveSubjectRequest,
) (*usersv1.ResolveSubjectResponse, error) {
	if r.UserId == "" {
		orgs, err := s.Store.OrgsWith(ctx, r.OrgIds)
		return &usersv1.ResolveSubjectResponse{Orgs: search.Each(orgs, subjectOrg)}, err
	}
	found, err := s.Store.Subject(ctx, r.UserId,
		domain.Proof{SecretHash: r.SecretHash, KeyID: r.KeyId, Credential: r.Credential}, r.OrgIds)
	if err != nil {
		return nil, err
	}
	out := &usersv1.ResolveSubjectResponse{
		OrgId: found.OrgID, State: usersv1.UserState(found.State), Type: usersv1.UserType(found.Type),
		Generation: uint64(found.Generation), Orgs: search.Each(found.Orgs, subjectOrg),
		Credential: found.Credential, PublicKey: found.PublicKey,
		AccessTokenType: heraldv1.OidcTokenType(found.AccessTokenType), Manages: found.Manages,
	}
	if r.WithProfile {
		out.User = s.Message(found.User)
	}
	return out, nil
}

func subjectOrg(o domain.Org) *usersv1.SubjectOrg {
	return &usersv1.SubjectOrg{Id: o.ID, Name: o.Name, PrimaryDomain: o.PrimaryDomain,
		State: usersv1.OrgState(o.State), Generation: uint64(o.Generation)}
}
