// Package orgs answers the requests of the service Orgs.
package orgs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// Server implements the service.
type Server struct {
	base.Base
}

// SearchMyOrgChanges lists the changes of the organization acted on.
func (s Server) SearchMyOrgChanges(
	ctx context.Context, r *usersv1.SearchMyOrgChangesRequest,
) (*heraldv1.SearchChangesResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	return s.Store.Changes(ctx, "org", base.OrgID(ctx), base.OrgID(ctx), p)
}

// CreateOrg creates an organization that the caller owns.
func (s Server) CreateOrg(ctx context.Context, r *usersv1.CreateOrgRequest) (*usersv1.CreateOrgResponse, error) {
	o := domain.Org{ID: resource.NewID(), Name: r.Name, State: domain.OrgActive}
	record, err := s.MakeOrg(ctx, o, caller.From(ctx).UserID)
	return &usersv1.CreateOrgResponse{Id: o.ID, Details: resource.Details(record, o.ID)}, err
}

// GetMyOrg reads the organization acted on.
func (s Server) GetMyOrg(ctx context.Context, _ *usersv1.GetMyOrgRequest) (*usersv1.GetMyOrgResponse, error) {
	o, err := s.Store.Org(ctx, base.OrgID(ctx))
	return &usersv1.GetMyOrgResponse{Org: org(o)}, err
}

// GetOrg returns an organization of the instance.
func (s Server) GetOrg(ctx context.Context, r *usersv1.GetOrgRequest) (*usersv1.GetOrgResponse, error) {
	o, err := s.Store.Org(ctx, r.OrgId)
	return &usersv1.GetOrgResponse{Org: org(o)}, err
}

// UpdateMyOrg renames the organization acted on.
func (s Server) UpdateMyOrg(ctx context.Context, r *usersv1.UpdateMyOrgRequest) (*usersv1.UpdateMyOrgResponse, error) {
	o, err := s.Store.ChangeOrg(ctx, base.OrgID(ctx), func(o *domain.Org) (proto.Message, error) {
		if !o.Rename(r.Name) {
			return nil, nil
		}
		return &usersv1.OrgChanged{Changed: []string{"name"}}, nil
	})
	return &usersv1.UpdateMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, err
}

// DeactivateMyOrg deactivates the organization acted on.
func (s Server) DeactivateMyOrg(
	ctx context.Context, _ *usersv1.DeactivateMyOrgRequest,
) (*usersv1.DeactivateMyOrgResponse, error) {
	o, err := s.Store.EndLogins(ctx, base.OrgID(ctx), func(o *domain.Org) (proto.Message, error) {
		err := o.Deactivate()
		return &usersv1.OrgDeactivated{Generation: uint64(o.Generation)}, err
	})
	return &usersv1.DeactivateMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, err
}

// ReactivateMyOrg reactivates the organization acted on.
func (s Server) ReactivateMyOrg(
	ctx context.Context, _ *usersv1.ReactivateMyOrgRequest,
) (*usersv1.ReactivateMyOrgResponse, error) {
	o, err := s.Store.ChangeOrg(ctx, base.OrgID(ctx), func(o *domain.Org) (proto.Message, error) {
		return &usersv1.OrgReactivated{}, o.Reactivate()
	})
	return &usersv1.ReactivateMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, err
}

// RemoveMyOrg removes the organization acted on. Its objects are removed in the background.
func (s Server) RemoveMyOrg(
	ctx context.Context, _ *usersv1.RemoveMyOrgRequest,
) (*usersv1.RemoveMyOrgResponse, error) {
	o, err := s.Store.RemoveOrg(ctx, base.OrgID(ctx), &usersv1.OrgRemoved{})
	return &usersv1.RemoveMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, err
}

// SearchOrgs lists the instance's organizations.
func (s Server) SearchOrgs(ctx context.Context, r *usersv1.SearchOrgsRequest) (*usersv1.SearchOrgsResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	query := s.Store.Orgs()
	for _, q := range r.Queries {
		if f := q.NameQuery; f != nil {
			query.Text(store.OrgName, f.Method, f.Name)
		}
		if f := q.PrimaryDomainQuery; f != nil {
			query.Text(store.OrgDomain, f.Method, f.PrimaryDomain)
		}
		if f := q.StateQuery; f != nil {
			query.Where("state = ?", f.State)
		}
	}
	list, err := s.Store.SearchOrgs(ctx, query, p)
	return &usersv1.SearchOrgsResponse{Details: list.Details(), Result: search.Each(list.Rows, org)}, err
}

func org(o domain.Org) *usersv1.Org {
	return &usersv1.Org{Id: o.ID, Details: resource.Details(o.Record, o.ID), State: usersv1.OrgState(o.State),
		Name: o.Name, PrimaryDomain: o.PrimaryDomain}
}
