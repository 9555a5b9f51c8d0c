package domain

import (
	"cmp"
	"fmt"
	"slices"

	"herald/shared/fault"
	"herald/shared/gen/fault/projectsfault"
	"herald/shared/resource"
)

// Role is a role that users can have on a project.
type Role struct {
	resource.Record
	ProjectID   string
	OrgID       string // of the project
	Key         string
	DisplayName string
	Group       string
}

// Change replaces the texts and returns the names of the changed ones. An empty display name is set to the key.
func (r *Role) Change(displayName, group string) (changed []string) {
	displayName = cmp.Or(displayName, r.Key)
	if r.DisplayName != displayName {
		changed = append(changed, "displayName")
	}
	if r.Group != group {
		changed = append(changed, "group")
	}
	r.DisplayName, r.Group = displayName, group
	return changed
}

// CheckDistinct returns a fault if two roles have the same key.
func CheckDistinct(roles []Role) error {
	seen := make(map[string]bool, len(roles))
	for i, r := range roles {
		if seen[r.Key] {
			path := fmt.Sprintf("roles[%d].key", i)
			return projectsfault.ErrProjectRoleTwice.Say("%s: another role has the key %q", path, r.Key).
				On(path, "has the key of another role")
		}
		seen[r.Key] = true
	}
	return nil
}

// TakenRoles returns the fault for new roles. taken are the keys that the project has already.
func TakenRoles(roles []Role, taken []string) *fault.Fault {
	var there []fault.Field
	for i, r := range roles {
		if slices.Contains(taken, r.Key) {
			there = append(there, fault.Field{
				Path: fmt.Sprintf("roles[%d].key", i), Reason: fmt.Sprintf("the project has a role %q already", r.Key),
			})
		}
	}
	return projectsfault.ErrProjectRoleExists.Naming(there...)
}

// CheckGrantable returns a fault if a key is not one of the grantable ones.
func CheckGrantable(keys, grantable []string) error {
	for i, key := range keys {
		if !slices.Contains(grantable, key) {
			path := fmt.Sprintf("roleKeys[%d]", i)
			f := projectsfault.ErrProjectRoleUnknown.Say("%s: there is no role %q to give", path, key)
			f.Fields = []fault.Field{{Path: path, Reason: "is not a role to give"}}
			return f
		}
	}
	return nil
}

// assign replaces a set of keys. It returns false if it is the same.
func assign(to *[]string, keys []string) bool {
	keys = append([]string{}, keys...) // nil would be null
	slices.Sort(keys)
	changed := !slices.Equal(*to, keys)
	*to = keys
	return changed
}
