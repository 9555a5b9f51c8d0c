package caller

import "slices"

// PermissionsOf returns the permissions of roles, sorted.
func PermissionsOf(roles []string) []string {
	var given []string
	for _, name := range roles {
		r, _ := find(name)
		given = append(given, r.Permissions...)
	}
	slices.Sort(given)
	return slices.Compact(given)
}

// RolesGiving returns all pairs of a role and a permission that the role has, for the given permissions: roles[i] has
// permissions[i]. SQL uses the pairs to find who has which permission.
func RolesGiving(given []string) (roles, permissions []string) {
	for _, r := range roleTable {
		for _, p := range r.Permissions {
			if slices.Contains(given, p) {
				roles, permissions = append(roles, r.Name), append(permissions, p)
			}
		}
	}
	return roles, permissions
}
