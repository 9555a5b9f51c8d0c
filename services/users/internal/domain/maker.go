package domain

import "herald/shared/caller"

// Membership is a member in the form that package caller uses.
type Membership = caller.Membership

// Gives returns the permissions of the member's roles, and all pairs of a role and one of these permissions that it
// gives: roles[i] gives permissions[i].
func (m Member) Gives() (gets, roles, permissions []string) {
	gets = caller.PermissionsOf(m.Roles)
	roles, permissions = caller.RolesGiving(gets)
	return gets, roles, permissions
}

// AboveProjects returns the roles in the instance and in an organization that have every permission on a project.
func AboveProjects() (inInstance, inOrg []string) {
	return caller.AboveProjects(caller.Instance), caller.AboveProjects(caller.Organization)
}
