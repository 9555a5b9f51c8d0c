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

// Givers returns every role with each of its permissions that is among the given ones, as two lists of the same
// length. With them SQL finds who has which permission.
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
