// Package permission is the one table that says what each role may do, and the rule
// that nobody gives away what they do not hold.
package permission

import (
	"slices"
	"strings"
)

// Scope is where a role counts.
type Scope int

// The scopes, from the widest.
const (
	Instance Scope = iota + 1
	Organization
	Project
)

// Role is a named set of permissions that counts in one scope.
type Role struct {
	Name        string
	Scope       Scope
	Permissions []string // sorted
}

// Membership is the roles that a user has in one place. Both ids are empty for the
// instance; a project's membership names its organization too.
type Membership struct {
	OrganizationID string
	ProjectID      string
	Roles          []string
}

// Known reports whether any role holds the permission: a contract that asks for
// another one is mistaken.
func Known(permission string) bool { return slices.Contains(all, permission) }

// Roles lists the roles of a scope in the order of the documentation.
func Roles(scope Scope) []Role {
	var found []Role
	for _, r := range table {
		if r.Scope == scope {
			found = append(found, r)
		}
	}
	return found
}

// AboveProjects lists the roles of a wider scope that hold all that any role on a
// project does.
func AboveProjects(s Scope) []string { return aboveProjects[s] }

// aboveProjects is asked for with every token: it is worked out once.
var aboveProjects = map[Scope][]string{Instance: above(Instance), Organization: above(Organization)}

func above(s Scope) (names []string) {
	for _, r := range Roles(s) {
		if !slices.ContainsFunc(where(onProject), func(p string) bool { return !slices.Contains(r.Permissions, p) }) {
			names = append(names, r.Name)
		}
	}
	return names
}

// CoversProjects reports whether roles of a wider scope hold, on every project of an
// organization, all that any role on it does.
func CoversProjects(memberships []Membership, organizationID string) bool {
	return slices.ContainsFunc(memberships, func(m Membership) bool {
		scope := m.scope()
		return scope != Project && (scope == Instance || m.OrganizationID == organizationID) &&
			slices.ContainsFunc(m.Roles, func(role string) bool { return slices.Contains(AboveProjects(scope), role) })
	})
}

// IsRole reports whether a role of that name counts in the scope.
func IsRole(scope Scope, name string) bool {
	r, ok := find(name)
	return ok && r.Scope == scope
}

// Holds reports whether the memberships give a permission in an organization, or on
// one of its projects where projectID is not empty.
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

// Missing looks for a permission of theirs that mine do not give in the same place or a
// wider one: whoever lacks one may neither give the memberships theirs nor act on somebody
// who has them. It returns the permission, the membership that carries it, and whether
// there is one.
func Missing(mine, theirs []Membership) (permission string, of Membership, missing bool) {
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

func (m Membership) scope() Scope {
	switch {
	case m.ProjectID != "":
		return Project
	case m.OrganizationID != "":
		return Organization
	default:
		return Instance
	}
}

// grants ignores roles that do not count in the membership's scope: an IAM role
// that found its way into an organization's row gives nothing.
func (m Membership) grants(permission string) bool {
	for _, name := range m.Roles {
		if r, ok := find(name); ok && r.Scope == m.scope() {
			if _, ok := slices.BinarySearch(r.Permissions, permission); ok {
				return true
			}
		}
	}
	return false
}

func find(name string) (Role, bool) {
	i := slices.IndexFunc(table, func(r Role) bool { return r.Name == name })
	if i < 0 {
		return Role{}, false
	}
	return table[i], true
}

// IsRead reports whether a permission only lets its holder look: those end in .read, which
// a test holds.
func IsRead(permission string) bool { return strings.HasSuffix(permission, ".read") }
