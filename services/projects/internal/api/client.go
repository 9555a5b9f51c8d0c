package api

import (
	"context"

	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/search"
)

// ResolveClient returns the application with a client id.
func (a Projects) ResolveClient(
	ctx context.Context, r *projectsv1.ResolveClientRequest,
) (*projectsv1.ResolveClientResponse, error) {
	p := domain.Proof{SecretHash: r.SecretHash, KeyID: r.KeyId, Credential: r.Credential}
	c, err := a.Store.Client(ctx, r.ClientId, p.AskedKey())
	if err != nil {
		return nil, err
	}
	return &projectsv1.ResolveClientResponse{
		OrgId: c.OrgID, App: application(c.Application), Project: project(c.Project()),
		Generation: uint64(c.Generation), ProjectGeneration: uint64(c.ProjectGeneration),
		SecretMatches: c.Matches(r.SecretHash, a.Store.Now()), PublicKey: c.PublicKey,
		Credential: c.Credential(p, a.Store.Now()),
	}, nil
}

// ResolveAccess returns what a user has on a project.
func (a Projects) ResolveAccess(
	ctx context.Context, r *projectsv1.ResolveAccessRequest,
) (*projectsv1.ResolveAccessResponse, error) {
	access, err := a.Store.Access(ctx, r.ProjectId, r.UserId, r.OrgId)
	if err != nil {
		return nil, err
	}
	return &projectsv1.ResolveAccessResponse{
		OrgHasProject: access.OrgHasProject,
		Roles: search.Each(access.Roles, func(g domain.GrantedRole) *projectsv1.GrantedRole {
			return &projectsv1.GrantedRole{Key: g.Key, OrgId: g.OrgID}
		}),
	}, nil
}
