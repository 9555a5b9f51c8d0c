package domain

import "herald/shared/resource"

// UserGrant is the roles on a project that an organization granted a user.
type UserGrant struct {
	resource.Record
	ID        string
	OrgID     string // that granted them
	UserID    string
	ProjectID string
	// ProjectGrantID is the project grant by which the organization granted them. It is empty on the organization's own
	// project.
	ProjectGrantID string
	RoleKeys       []string // sorted

	ProjectName string
}

// Assign replaces the roles. It returns false if they are the same.
func (g *UserGrant) Assign(keys []string) bool { return assign(&g.RoleKeys, keys) }
