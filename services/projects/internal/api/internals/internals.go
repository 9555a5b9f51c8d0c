// Package internals answers the requests of the service Internal, which only other services of Herald call.
package internals

import (
	"context"
	"slices"

	"herald/services/projects/internal/api/apps"
	"herald/services/projects/internal/api/base"
	"herald/services/projects/internal/api/projects"
	"herald/services/projects/internal/domain"
	"herald/shared/gen/fault/projectsfault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
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

// ReadExpirations returns the keys and secrets of applications that end soon.
func (s Server) ReadExpirations(
	ctx context.Context, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	return s.Store.Expirations(ctx, r)
}

// FindTaken returns which of some ids are taken here.
func (s Server) FindTaken(ctx context.Context, r *projectsv1.FindTakenRequest) (*projectsv1.FindTakenResponse, error) {
	found, err := s.Store.FindTaken(ctx, r.Ids)
	return &projectsv1.FindTakenResponse{Ids: found}, err
}

// ResolveAccess returns what a user and the organization of an application have on projects.
func (s Server) ResolveAccess(
	ctx context.Context, r *projectsv1.ResolveAccessRequest,
) (*projectsv1.ResolveAccessResponse, error) {
	found, err := s.Store.Access(ctx, domain.AccessQuery{
		ProjectIDs: append([]string{r.ProjectId}, r.NamedIds...), UserID: r.UserId, OrgID: r.OrgId,
		ClientOrgID: r.ClientOrgId,
	})
	if err != nil {
		return nil, err
	}
	answer := &projectsv1.ResolveAccessResponse{}
	for _, a := range found {
		if a.Project.ID == r.ProjectId {
			answer = access(a)
		}
	}
	if r.ProjectId != "" && answer.Project == nil {
		return nil, projectsfault.ErrProjectNotFound
	}
	for _, a := range found {
		if slices.Contains(r.NamedIds, a.Project.ID) {
			answer.Named = append(answer.Named, access(a))
		}
	}
	return answer, nil
}

func access(a domain.Access) *projectsv1.ResolveAccessResponse {
	return &projectsv1.ResolveAccessResponse{
		Project: projects.Message(a.Project), OrgHasProject: a.OrgHasProject,
		Grounds: a.Grounds,
		Roles: search.Each(a.Roles, func(g domain.GrantedRole) *projectsv1.GrantedRole {
			return &projectsv1.GrantedRole{Key: g.Key, OrgId: g.OrgID}
		}),
	}
}
