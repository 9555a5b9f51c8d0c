package domain

import "herald/shared/permission"

// Membership is a member as package permission sees it.
type Membership = permission.Membership

// Gives returns the permissions of the member's roles, and all pairs of a role and one of these permissions that it
// gives: roles[i] gives permissions[i].
func (m Member) Gives() (gets, roles, permissions []string) {
	gets = permission.Given(m.Roles)
	roles, permissions = permission.Givers(gets)
	return gets, roles, permissions
}

// AboveProjects returns the roles in the instance and in an organization that have every permission on a project.
func AboveProjects() (inInstance, inOrg []string) {
	return permission.AboveProjects(permission.Instance), permission.AboveProjects(permission.Organization)
}
