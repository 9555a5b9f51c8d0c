package caller

import (
	"slices"
	"strings"
)

// permissions lists every permission, sorted.
var permissions = []string{
	"iam.member.read", "iam.member.write", "iam.read", "iam.write",
	"org.create", "org.delete", "org.idp.read", "org.idp.write",
	"org.member.read", "org.member.write", "org.read", "org.write",
	"policy.delete", "policy.read", "policy.write",
	"project.app.delete", "project.app.read", "project.app.write",
	"project.create", "project.delete",
	"project.grant.delete", "project.grant.read", "project.grant.write",
	"project.member.delete", "project.member.read", "project.member.write",
	"project.read",
	"project.role.delete", "project.role.read", "project.role.write",
	"project.write",
	"user.credential.write", "user.delete", "user.grant.read", "user.grant.write",
	"user.import", "user.read", "user.write",
}

// roleTable lists every role. The roles/_search methods return them.
var roleTable = []Role{
	{"IAM_OWNER", Instance, permissions},
	{"IAM_OWNER_VIEWER", Instance, where(IsReadPermission)},
	{"IAM_USER_MANAGER", Instance, []string{"user.delete", "user.read", "user.write"}},
	{"ORG_OWNER", Organization, where(inOrganization)},
	{"ORG_OWNER_VIEWER", Organization, where(inOrganization, IsReadPermission)},
	{"ORG_USER_MANAGER", Organization, []string{
		"org.read", "project.read", "project.role.read",
		"user.delete", "user.grant.read", "user.grant.write", "user.read", "user.write",
	}},
	{"ORG_SETTINGS_MANAGER", Organization, []string{
		"org.idp.read", "org.idp.write", "org.read", "org.write",
		"policy.delete", "policy.read", "policy.write",
	}},
	{"ORG_PROJECT_CREATOR", Organization, []string{"org.read", "project.create"}},
	{"PROJECT_OWNER", Project, where(onProject)},
	{"PROJECT_OWNER_VIEWER", Project, where(onProject, IsReadPermission)},
}

func where(conditions ...func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(permissions), func(p string) bool {
		return slices.ContainsFunc(conditions, func(c func(string) bool) bool { return !c(p) })
	})
}

func inOrganization(permission string) bool {
	return !strings.HasPrefix(permission, "iam.") && permission != "org.create"
}

func onProject(permission string) bool {
	return strings.HasPrefix(permission, "project.") && permission != "project.create"
}
