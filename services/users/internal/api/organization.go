package api

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// CreateOrg creates an organization that the caller owns.
func (u Users) CreateOrg(ctx context.Context, r *usersv1.CreateOrgRequest) (*usersv1.CreateOrgResponse, error) {
	o := domain.Org{ID: resource.NewID(), Name: r.Name, State: domain.OrgActive}
	record, err := u.createOrg(ctx, o, caller.From(ctx).UserID)
	if err != nil {
		return nil, err
	}
	return &usersv1.CreateOrgResponse{Id: o.ID, Details: resource.Details(record, o.ID)}, nil
}

// createOrg creates an organization, and its owner if ownerID names one.
func (u Users) createOrg(ctx context.Context, o domain.Org, ownerID string) (resource.Record, error) {
	o.PrimaryDomain = u.primaryDomain(o, false)
	record, err := u.Store.CreateOrg(ctx, o, ownerID, &usersv1.OrgCreated{})
	if errors.Is(err, usersfault.ErrOrgDomainTaken) { // another name has the same slug
		o.PrimaryDomain = u.primaryDomain(o, true)
		record, err = u.Store.CreateOrg(ctx, o, ownerID, &usersv1.OrgCreated{})
	}
	return record, err
}

// primaryDomain returns the slug of the name and the public host. If alike is true, it adds the end
// of the id, because another organization has the same slug.
func (u Users) primaryDomain(o domain.Org, alike bool) string {
	slug := domain.Slug(o.Name)
	end := domain.Slug(o.ID[max(0, len(o.ID)-12):])
	switch {
	case slug == "":
		slug = "org-" + end
	case alike:
		slug += "-" + end
	}
	return slug + "." + u.PublicURL.Hostname()
}

// GetMyOrg reads the organization acted on.
func (u Users) GetMyOrg(ctx context.Context, _ *usersv1.GetMyOrgRequest) (*usersv1.GetMyOrgResponse, error) {
	o, err := u.Store.Org(ctx, orgID(ctx))
	if err != nil {
		return nil, err
	}
	return &usersv1.GetMyOrgResponse{Org: org(o)}, nil
}

// GetOrg returns an organization of the instance.
func (u Users) GetOrg(ctx context.Context, r *usersv1.GetOrgRequest) (*usersv1.GetOrgResponse, error) {
	o, err := u.Store.Org(ctx, r.OrgId)
	if err != nil {
		return nil, err
	}
	return &usersv1.GetOrgResponse{Org: org(o)}, nil
}

// UpdateMyOrg renames the organization acted on.
func (u Users) UpdateMyOrg(ctx context.Context, r *usersv1.UpdateMyOrgRequest) (*usersv1.UpdateMyOrgResponse, error) {
	o, err := u.Store.ChangeOrg(ctx, orgID(ctx), func(o *domain.Org) (proto.Message, error) {
		if !o.Rename(r.Name) {
			return nil, nil
		}
		return &usersv1.OrgChanged{Changed: []string{"name"}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.UpdateMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, nil
}

// DeactivateMyOrg deactivates the organization acted on.
func (u Users) DeactivateMyOrg(
	ctx context.Context, _ *usersv1.DeactivateMyOrgRequest,
) (*usersv1.DeactivateMyOrgResponse, error) {
	o, err := u.Store.EndLogins(ctx, orgID(ctx), func(o *domain.Org) (proto.Message, error) {
		err := o.Deactivate()
		return &usersv1.OrgDeactivated{Generation: uint64(o.Generation)}, err
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.DeactivateMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, nil
}

// ReactivateMyOrg reactivates the organization acted on.
func (u Users) ReactivateMyOrg(
	ctx context.Context, _ *usersv1.ReactivateMyOrgRequest,
) (*usersv1.ReactivateMyOrgResponse, error) {
	o, err := u.Store.ChangeOrg(ctx, orgID(ctx), func(o *domain.Org) (proto.Message, error) {
		return &usersv1.OrgReactivated{}, o.Reactivate()
	})
	if err != nil {
		return nil, err
	}
	return &usersv1.ReactivateMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, nil
}

// RemoveMyOrg removes the organization acted on. Its objects are removed in the background.
func (u Users) RemoveMyOrg(
	ctx context.Context, _ *usersv1.RemoveMyOrgRequest,
) (*usersv1.RemoveMyOrgResponse, error) {
	o, err := u.Store.RemoveOrg(ctx, orgID(ctx), &usersv1.OrgRemoved{})
	if err != nil {
		return nil, err
	}
	return &usersv1.RemoveMyOrgResponse{Details: resource.Changed(o.Record, o.ID)}, nil
}

// SearchOrgs lists the instance's organizations.
func (u Users) SearchOrgs(ctx context.Context, r *usersv1.SearchOrgsRequest) (*usersv1.SearchOrgsResponse, error) {
	p, err := search.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	query := u.Store.Orgs()
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
	list, err := u.Store.SearchOrgs(ctx, query, p)
	if err != nil {
		return nil, err
	}
	return &usersv1.SearchOrgsResponse{Details: list.Details(), Result: search.Each(list.Rows, org)}, nil
}

func org(o domain.Org) *usersv1.Org {
	return &usersv1.Org{Id: o.ID, Details: resource.Details(o.Record, o.ID), State: usersv1.OrgState(o.State),
		Name: o.Name, PrimaryDomain: o.PrimaryDomain}
}
