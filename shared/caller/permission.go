package caller

import (
	"slices"
	"strings"
)

// Level is the kind of object on which a role can be held.
type Level int

// The levels, the widest first.
const (
	Instance Level = iota + 1
	Organization
	Project
)

// Role is a named set of permissions that can be held on one level.
type Role struct {
	Name        string
	Level       Level
	Permissions []string // sorted
}

// Membership holds the roles that a user has on the instance, an organization or a project. For the instance both ids
// are empty. For a project both ids are set.
type Membership struct {
	OrganizationID string
	ProjectID      string
	Roles          []string
}

// IsPermission reports whether the permission exists.
func IsPermission(permission string) bool { return slices.Contains(permissions, permission) }

// Roles returns the roles of a level in the order of the documentation.
func Roles(level Level) []Role {
	var found []Role
	for _, r := range roleTable {
		if r.Level == level {
			found = append(found, r)
		}
	}
	return found
}

// AboveProjects returns the roles of a wider level that include every permission of every project role.
func AboveProjects(l Level) []string { return aboveProjects[l] }

// aboveProjects is computed once, because it is needed with every token.
var aboveProjects = map[Level][]string{Instance: above(Instance), Organization: above(Organization)}

func above(l Level) (names []string) {
	for _, r := range Roles(l) {
		if !slices.ContainsFunc(where(onProject), func(p string) bool { return !slices.Contains(r.Permissions, p) }) {
			names = append(names, r.Name)
		}
	}
	return names
}

// CoversProjects reports whether the memberships include a role of AboveProjects that is valid for every project of
// an organization.
func CoversProjects(memberships []Membership, organizationID string) bool {
	return slices.ContainsFunc(memberships, func(m Membership) bool {
		level := m.level()
		return level != Project && (level == Instance || m.OrganizationID == organizationID) &&
			slices.ContainsFunc(m.Roles, func(role string) bool { return slices.Contains(AboveProjects(level), role) })
	})
}

// IsRole reports whether the level has a role of that name.
func IsRole(level Level, name string) bool {
	r, ok := find(name)
	return ok && r.Level == level
}

// Holds reports whether the memberships give a permission in an organization. With a projectID it reports whether
// they give it on that project of the organization.
func Holds(memberships []Membership, permission, organizationID, projectID string) bool {
	for _, m := range memberships {
		switch {
		case m.OrganizationID != "" && m.OrganizationID != organizationID:
			continue
		case m.ProjectID != "" && m.ProjectID != projectID:
			continue
		}
		if m.grants(permission) {
			return true
		}
	}
	return false
}

// MissingPermission compares the permissions of the caller (mine) with those of another user (theirs). Callers may
// grant memberships, or act on a user who has them, only if they have the same permissions on the same object or a
// wider one. MissingPermission returns the first permission that the caller lacks and the membership that gives it to
// the other user. missing is false if the caller lacks none.
func MissingPermission(mine, theirs []Membership) (permission string, of Membership, missing bool) {
	for _, m := range theirs {
		for _, name := range m.Roles {
			r, _ := find(name)
			for _, p := range r.Permissions {
				if !Holds(mine, p, m.OrganizationID, m.ProjectID) {
					return p, m, true
				}
			}
		}
	}
	return "", Membership{}, false
}

func (m Membership) level() Level {
	switch {
	case m.ProjectID != "":
		return Project
	case m.OrganizationID != "":
		return Organization
	default:
		return Instance
	}
}

// grants reports whether one of the roles gives the permission. It ignores roles of another level, for example an IAM
// role in the membership of an organization.
func (m Membership) grants(permission string) bool {
	for _, name := range m.Roles {
		if r, ok := find(name); ok && r.Level == m.level() {
			if _, ok := slices.BinarySearch(r.Permissions, permission); ok {
				return true
			}
		}
	}
	return false
}

func find(name string) (Role, bool) {
	i := slices.IndexFunc(roleTable, func(r Role) bool { return r.Name == name })
	if i < 0 {
		return Role{}, false
	}
	return roleTable[i], true
}

// IsReadPermission reports whether a permission allows only reading. The names of these permissions end with .read,
// and a test checks this.
func IsReadPermission(permission string) bool { return strings.HasSuffix(permission, ".read") }
