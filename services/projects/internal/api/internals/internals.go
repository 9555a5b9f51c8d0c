// Package internals answers the requests of the service Internal, which only other services of Herald call.
package internals

import (
	"context"

	"herald/services/projects/internal/api/apps"
	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/api/projects"
	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/search"
)

// Server implements the service.
type Server struct{ base.Base }

// ResolveProject returns a fault if the organization has no such project.
func (s Server) ResolveProject(
	ctx context.Context, r *projectsv1.ResolveProjectRequest,
) (*projectsv1.ResolveProjectResponse, error) {
	_, err := s.Store.Project(ctx, r.OrgId, r.ProjectId)
	return &projectsv1.ResolveProjectResponse{}, err
}

// ResolveClient returns the application with a client id.
func (s Server) ResolveClient(
	ctx context.Context, r *projectsv1.ResolveClientRequest,
) (*projectsv1.ResolveClientResponse, error) {
	p := domain.Proof{SecretHash: r.SecretHash, KeyID: r.KeyId, Credential: r.Credential}
	c, err := s.Store.Client(ctx, r.ClientId, p.RequestedKey())
	if err != nil {
		return nil, err
	}
	return &projectsv1.ResolveClientResponse{
		OrgId: c.OrgID, App: apps.Message(c.Application), Project: projects.Message(c.Project()),
		Generation: uint64(c.Generation), ProjectGeneration: uint64(c.ProjectGeneration),
		SecretMatches: c.Matches(r.SecretHash, s.Store.Now()), PublicKey: c.PublicKey,
		Credential: c.Credential(p, s.Store.Now()),
	}, nil
}

// ResolveAccess returns what a user has on a project.
func (s Server) ResolveAccess(
	ctx context.Context, r *projectsv1.ResolveAccessRequest,
) (*projectsv1.ResolveAccessResponse, error) {
	access, err := s.Store.Access(ctx, r.ProjectId, r.UserId, r.OrgId)
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
