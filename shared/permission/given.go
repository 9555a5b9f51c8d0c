package permission

import "slices"

// Given returns the permissions of roles, sorted.
func Given(roles []string) []string {
	var given []string
	for _, name := range roles {
		r, _ := find(name)
		given = append(given, r.Permissions...)
	}
	slices.Sort(given)
	return slices.Compact(given)
}

// Givers returns all pairs of a role and one of these permissions that it gives: roles[i] gives permissions[i]. With
// them SQL finds who has which permission.
func Givers(given []string) (roles, permissions []string) {
	for _, r := range table {
		for _, p := range r.Permissions {
			if slices.Contains(given, p) {
				roles, permissions = append(roles, r.Name), append(permissions, p)
			}
		}
	}
	return roles, permissions
}
