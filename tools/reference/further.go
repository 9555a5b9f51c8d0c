package main

import "slices"

// Further is a rule that no option of a contract says.
type Further struct {
	// Methods are the procedures to which it applies, without the first slash.
	Methods []string
	// When says to which requests of the methods it applies.
	When string
	// Permission is what the caller needs, or empty.
	Permission string
	// Needs says what else the request needs.
	Needs string
	// Test fails without the rule. It is in the folder In.
	Test, In string
	// Asked are the declarations of services that name a permission for the rule, each with its folder.
	Asked []string
}

// further are all such rules. A test compares them with the sources.
var further = []Further{
	{
		Methods: []string{"herald.users.v1.Members/AddOrgMember", "herald.users.v1.Members/AddProjectMember"},
		When:    "for a user of another organization",
		Needs: "that user, or who has `org.member.write` there, accepts the roles: until then they give nothing. The " +
			"caller may have that permission too",
		Test: "TestPendingMembershipGivesNothing", In: "services/users/internal/api/members",
		Asked: []string{"services/users/internal/store.CreateMember"},
	},
	{
		Methods: []string{
			"herald.users.v1.Members/AddOrgMember", "herald.users.v1.Members/UpdateOrgMember",
			"herald.users.v1.Members/AddProjectMember", "herald.users.v1.Members/UpdateProjectMember",
			"herald.users.v1.Members/AddIamMember", "herald.users.v1.Members/UpdateIamMember",
			"herald.users.v1.Members/AcceptMembership", "herald.users.v1.Members/AcceptMyMembership",
		},
		When: "in the user's organization, if the roles end something that somebody without one of their permissions " +
			"made for the user, such as the password",
		Permission: "user.credential.write",
		Test:       "TestOwnersOfProjectsEndNothing", In: "services/users/internal/api/members",
		Asked: []string{"services/users/internal/store.ending"},
	},
	{
		Methods: []string{"herald.users.v1.Users/CreateHumanUser"},
		When: "for mails with codes to the address of a user who is active at once: until somebody with the " +
			"permission sets the address, none are sent",
		Permission: "user.credential.write",
		Test:       "TestNoCodeIsSentToAddressesThatManagersChose", In: "services/users/internal/api/credentials",
		Asked: []string{"services/users/internal/api/users.CreateHumanUser"},
	},
	{
		Methods: []string{"herald.projects.v1.Grants/AddProjectGrant"},
		Needs: "who has `project.grant.write` in the other organization accepts it: until then nothing follows for " +
			"its people. The caller may have that permission too",
		Test: "TestGrantedOrganizationAnswersAGrant", In: "services/projects/internal/api/grants",
		Asked: []string{"services/projects/internal/api/grants.AddProjectGrant"},
	},
	{
		Methods:    []string{"herald.users.v1.Credentials/UpdateEmail"},
		When:       "for the address of a user who has been active, and to set an address as verified",
		Permission: "user.credential.write",
		Test:       "TestManagersChangeEmailsOfWaitingUsers", In: "services/users/internal/api/credentials",
		Asked: []string{"services/users/internal/api/credentials.mayChangeEmail"},
	},
	{
		Methods: []string{"herald.notification.v1.Notifications/ResendNotification"},
		When:    "for a mail for a new password that has ended", Permission: "user.credential.write",
		Test: "TestResendReturnsTheFaultsOfUsers", In: "services/notification/internal/api",
	},
	{
		Methods: []string{"herald.projects.v1.Apps/CreateOidcApp", "herald.projects.v1.Apps/UpdateOidcConfig"},
		When:    "for a `trusted` application, which is not asked for consent", Permission: "org.write",
		Test: "TestTrustedApplicationNeedsOrgWrite", In: "services/projects/internal/api/apps",
		Asked: []string{"services/projects/internal/api/apps.checkedConfig"},
	},
	{
		Methods: []string{"herald.users.v1.Imports/ImportUsers", "herald.users.v1.Imports/CheckImport"},
		When:    "in each organization of the import", Permission: "user.import",
		Test: "TestImportUsersNeedsPermissionEverywhere", In: "services/users/internal/api/imports",
		Asked: []string{"services/users/internal/api/imports.eachOrg"},
	},
	{
		Methods: []string{"herald.users.v1.Imports/ImportUsers", "herald.users.v1.Imports/CheckImport"},
		When:    "for an organization that the import creates", Permission: "org.create",
		Test: "TestImportUsersNeedsPermissionEverywhere", In: "services/users/internal/api/imports",
		Asked: []string{"services/users/internal/api/imports.findOrg"},
	},
	{
		Methods: []string{"herald.projects.v1.Projects/SearchProjects"},
		When:    "for projects on which the caller has no role", Permission: "project.read",
		Test: "TestSearchFindsProjectsThatTheCallerMayRead", In: "services/projects/internal/api/projects",
		Asked: []string{
			"services/projects/internal/api/projects.SearchProjects",
			"services/projects/internal/api/projects.readable",
		},
	},
	{
		Methods: []string{
			"herald.users.v1.Audit/SearchEvents", "herald.users.v1.Audit/SearchInstanceEvents",
		},
		When: "for the names of people", Permission: "user.read",
		Test: "TestSearchAsksAllServices", In: "services/users/internal/api/audit",
		Asked: []string{"services/users/internal/api/audit.readers"},
	},
	{
		Methods: []string{
			"herald.users.v1.Audit/SearchEvents", "herald.users.v1.Audit/SearchInstanceEvents",
		},
		When: "for the names of projects and applications", Permission: "project.read",
		Test: "TestSearchAsksAllServices", In: "services/users/internal/api/audit",
		Asked: []string{"services/users/internal/api/audit.readers"},
	},
	{
		Methods: []string{
			"herald.users.v1.Audit/SearchEvents", "herald.users.v1.Audit/SearchInstanceEvents",
		},
		When: "for the names of identity providers", Permission: "org.idp.read",
		Test: "TestSearchAsksAllServices", In: "services/users/internal/api/audit",
		Asked: []string{"services/users/internal/api/audit.readers"},
	},
	{
		Methods: []string{
			"herald.users.v1.Expirations/ListExpirations",
			"herald.users.v1.Expirations/ListInstanceExpirations",
		},
		When: "for keys of machine users, personal access tokens and invitations", Permission: "user.read",
		Test: "TestListOfExpirations", In: "services/users/internal/api/audit",
		Asked: []string{"services/users/internal/api/audit.mayRead"},
	},
	{
		Methods: []string{
			"herald.users.v1.Expirations/ListExpirations",
			"herald.users.v1.Expirations/ListInstanceExpirations",
		},
		When: "for keys and secrets of applications", Permission: "project.app.read",
		Test: "TestListOfExpirations", In: "services/users/internal/api/audit",
		Asked: []string{"services/users/internal/api/audit.mayRead"},
	},
	{
		Methods: []string{
			"herald.users.v1.Expirations/ListExpirations",
			"herald.users.v1.Expirations/ListInstanceExpirations",
		},
		When: "for secrets of identity providers", Permission: "org.idp.read",
		Test: "TestListOfExpirations", In: "services/users/internal/api/audit",
		Asked: []string{"services/users/internal/api/audit.mayRead"},
	},
	{
		Methods: []string{"herald.users.v1.Expirations/ListInstanceExpirations"},
		When:    "for certificates of gateways", Permission: "iam.read",
		Test: "TestCertificateIsListedWhileGatewaysNoteIt", In: "services/users/internal/api/internals",
		Asked: []string{"services/users/internal/api/audit.mayRead"},
	},
}

// Rule is a row of the document: a rule with the operations to which it applies.
type Rule struct {
	Further
	Operations []Operation
}

// Rules returns the rules that no option says.
func (c *Contract) Rules() (all []Rule) {
	for _, f := range further {
		r := Rule{Further: f}
		for _, o := range c.Operations {
			if slices.Contains(f.Methods, o.Procedure()[1:]) {
				r.Operations = append(r.Operations, o)
			}
		}
		all = append(all, r)
	}
	return all
}
