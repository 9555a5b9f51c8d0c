package base

import (
	"context"
	"errors"

	"herald/services/users/internal/domain"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
)

// MakeOrg creates an organization, and its owner if ownerID names one.
func (b Base) MakeOrg(ctx context.Context, o domain.Org, ownerID string) (resource.Record, error) {
	o.PrimaryDomain = b.primaryDomain(o, false)
	record, err := b.Store.CreateOrg(ctx, o, ownerID, &usersv1.OrgCreated{})
	if errors.Is(err, usersfault.ErrOrgDomainTaken) { // another name has the same slug
		o.PrimaryDomain = b.primaryDomain(o, true)
		record, err = b.Store.CreateOrg(ctx, o, ownerID, &usersv1.OrgCreated{})
	}
	return record, err
}

// primaryDomain returns the slug of the name and the public host. If alike is true, it adds the end
// of the id, because another organization has the same slug.
func (b Base) primaryDomain(o domain.Org, alike bool) string {
	slug := domain.Slug(o.Name)
	end := domain.Slug(o.ID[max(0, len(o.ID)-12):])
	switch {
	case slug == "":
		slug = "org-" + end
	case alike:
		slug += "-" + end
	}
	return slug + "." + b.PublicURL.Hostname()
}
