package caller

import (
	"slices"
	"strings"
)

// Level is the kind of object on which a role can be held.
type Level int

// The levels, from the widest.
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

// Membership is the roles that a user has on the instance, an organization or a project. Both
// ids are empty for the instance. A project's membership has the id of its organization too.
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

// AboveProjects returns the roles of a wider level that have every permission of every role on a
// project.
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

// CoversProjects reports whether the memberships have one of the roles AboveProjects for every
// project of an organization.
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

// Holds reports whether the memberships give a permission in an organization or, with a
// projectID, on that project of it.
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

// MissingPermission compares the permissions of two users, mine being the caller's. Callers may grant
// memberships, or act on a user who has them, only if they have the same permissions on the same
// object or a wider one. MissingPermission returns the first permission that the caller lacks, the
// membership that gives it to the other user, and whether there is one.
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

// grants reports whether one of the roles gives the permission. It ignores roles of another
// level, such as an IAM role in the membership of an organization.
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

// IsReadPermission reports whether a permission allows reading only. The names of these end in .read, as a
// test checks.
func IsReadPermission(permission string) bool { return strings.HasSuffix(permission, ".read") }
