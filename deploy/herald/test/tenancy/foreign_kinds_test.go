package tenancy_test

import (
	"strings"

	"herald/deploy/herald/test/whole"
	"herald/shared/contract"
)

// kind says how to make and remove objects of a kind: verb, path and body of requests, in which
// {name} stands for the field of that name. The first answer has the id.
type kind struct {
	create [][2]string
	// insert is SQL on the database of the service in, or of users, for what only an import or a login makes.
	insert   string
	in       string
	answer   string
	remove   string
	instance bool // belongs to no organization
	itself   bool // is an organization, and is removed by a call in it
}

const aPerson = `{"userId":"{new}","userName":"{new}","profile":{"firstName":"Mini","lastName":"Mouse"},
	"email":{"email":"{new}@example.com","isEmailVerified":true},"hashedPassword":{"value":"` + whole.Hash + `"}}`

const otpSecret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"

// memberOf makes a pending membership in an organization that is gone, so that it gives no role to those who call, also
// after they have accepted it.
const memberOf = `insert into members (id, org_id, roles, state, sequence, created_at, changed_at, user_id)
	values ('{new}', '{new}', array['ORG_OWNER'], 2, 1, now(), now(), `

const linked = `insert into user_idp_links (idp_id, external_user_id, tenant_id, display_name, makers, sequence,
	created_at, changed_at, user_id) values ('{idp_id}', '{new}', '', '', '{}', 1, now(), now(), `

const loggedIn = `insert into sessions (id, hash, user_id, user_generation, org_id, org_generation, auth_time, amr,
	credential, client, agent, created_at, used_at, expires_at)
	values ('{new}', sha256('{new}'), '{user_id}', 1, '{org}', 1, now(), '{pwd}', 'password', '', '', now(), now(),
	now() + interval '1 day')`

const accessGiven = `insert into authorizations (id, client_id, client_generation, project_id, project_generation,
	client_org_id, client_org_generation, user_id, user_generation, org_id, org_generation, session_id, scopes,
	audience, auth_time, amr, credential, expires_at)
	values ('{new}', '{new}', 1, '{new}', 1, '{new}', 1, '{caller}', 1, '{new}', 1, '', '{}', '{}', now(), '{pwd}',
	'password', now() + interval '1 day')`

// grantedToUs is a project of another organization that is granted to the one that calls.
const grantedToUs = `with project as (
		insert into projects (id, org_id, name, name_folded, state, project_role_assertion, project_role_check,
			has_project_check, private_labeling_setting, sequence, created_at, changed_at)
		values ('{new}', '{new}', '{new}', '{new}', 1, false, false, false, 0, 1, now(), now()) returning id
	)
	insert into project_grants (id, project_id, granted_org_id, role_keys, state, sequence, created_at, changed_at)
	select '{new}', id, '{org}', '{}', 1, 1, now(), now() from project`

var (
	imported = [2]string{"POST /management/v1/users/human/_import", aPerson}

	kinds = map[string]kind{
		"project": {create: [][2]string{
			{"POST /management/v1/projects", `{"name":"{new}"}`},
			{"POST /management/v1/projects/{project_id}/members", `{"userId":"{member}","roles":["PROJECT_OWNER"]}`},
		}, answer: "id", remove: "DELETE /management/v1/projects/{project_id}"},
		"oidcApp": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/apps/oidc", `{"name":"{new}"}`}},
			answer: "appId", remove: "DELETE /management/v1/projects/{project_id}/apps/{app_id}",
		},
		"apiApp": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/apps/api", `{"name":"{new}"}`}},
			answer: "appId", remove: "DELETE /management/v1/projects/{project_id}/apps/{app_id}",
		},
		"appKey": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/apps/{app_id}/keys",
				`{"publicKey":"{publicKey}"}`}}, answer: "keyId",
			remove: "DELETE /management/v1/projects/{project_id}/apps/{app_id}/keys/{key_id}",
		},
		"role": {create: [][2]string{{"POST /management/v1/projects/{project_id}/roles", `{"key":"{new}"}`}},
			remove: "DELETE /management/v1/projects/{project_id}/roles/{key}"},
		"projectGrant": {
			create: [][2]string{{"POST /management/v1/projects/{project_id}/grants", `{"grantedOrgId":"{partner}"}`}},
			answer: "grantId", remove: "DELETE /management/v1/projects/{project_id}/grants/{grant_id}",
		},
		"user": {create: [][2]string{imported}, remove: "DELETE /management/v1/users/{user_id}"},
		"machine": {create: [][2]string{{"POST /management/v1/users/machine", `{"userName":"{new}","name":"{new}"}`}},
			answer: "userId", remove: "DELETE /management/v1/users/{user_id}"},
		"otpUser": {create: [][2]string{{imported[0], strings.Replace(aPerson, "{", `{"otpCode":"`+otpSecret+`",`, 1)}},
			remove: "DELETE /management/v1/users/{user_id}/auth_factors/otp"},
		"machineKey": {create: [][2]string{{"POST /management/v1/users/{user_id}/keys", `{"publicKey":"{publicKey}"}`}},
			answer: "keyId", remove: "DELETE /management/v1/users/{user_id}/keys/{key_id}"},
		"token": {create: [][2]string{{"POST /management/v1/users/{user_id}/pats", `{}`}}, answer: "tokenId",
			remove: "DELETE /management/v1/users/{user_id}/pats/{token_id}"},
		"myToken": {create: [][2]string{{"POST /management/v1/users/{caller}/pats", `{}`}}, answer: "tokenId",
			remove: "DELETE /management/v1/users/{caller}/pats/{token_id}"},
		"metadata": {
			create: [][2]string{{"POST /management/v1/users/{user_id}/metadata/{new}", `{"value":"cw=="}`}},
			remove: "DELETE /management/v1/users/{user_id}/metadata/{key}",
		},
		"userGrant": {create: [][2]string{{"POST /management/v1/users/{user_id}/grants", `{"projectId":"{home}"}`}},
			answer: "grantId", remove: "DELETE /management/v1/users/{user_id}/grants/{grant_id}"},
		"notification": {create: [][2]string{{"POST /management/v1/users/{user_id}/password/_reset", `{}`}},
			answer: "notificationId"},
		"orgMember": {
			create: [][2]string{imported, {"POST /management/v1/orgs/me/members", `{"userId":"{user_id}",` +
				`"roles":["ORG_OWNER_VIEWER"]}`}}, remove: "DELETE /management/v1/orgs/me/members/{user_id}",
		},
		"projectMember": {create: [][2]string{
			imported, {"POST /management/v1/projects/{project_id}/members",
				`{"userId":"{user_id}","roles":["PROJECT_OWNER_VIEWER"]}`},
		},
			remove: "DELETE /management/v1/projects/{project_id}/members/{user_id}"},
		"iamMember": {
			create: [][2]string{
				imported, {"POST /admin/v1/members", `{"userId":"{user_id}","roles":["IAM_OWNER_VIEWER"]}`},
			}, remove: "DELETE /admin/v1/members/{user_id}", instance: true,
		},
		"idp": {
			create: [][2]string{{"POST /management/v1/idps/directory",
				`{"name":"{new}","clientId":"{new}","clientSecret":"{new}"}`}}, answer: "id",
			remove: "DELETE /management/v1/idps/{removed}",
		},
		"membership": {insert: memberOf + `'{user_id}')`,
			remove: "DELETE /management/v1/users/{user_id}/memberships/{membership_id}"},
		"myMembership": {insert: memberOf + `'{caller}')`,
			remove: "DELETE /management/v1/users/{caller}/memberships/{membership_id}"},
		"idpLink": {insert: linked + `'{user_id}')`,
			remove: "DELETE /management/v1/users/{user_id}/idps/{idp_id}/{external_user_id}"},
		"myIdpLink": {insert: linked + `'{caller}')`,
			remove: "DELETE /management/v1/users/{caller}/idps/{idp_id}/{external_user_id}"},
		"grantedProject": {in: "projects", insert: grantedToUs},
		"session": {in: "auth", insert: loggedIn,
			remove: "DELETE /management/v1/users/{user_id}/sessions/{session_id}"},
		"mySession": {in: "auth",
			insert: strings.NewReplacer("{user_id}", "{caller}", "{org}", "{new}").Replace(loggedIn)},
		"myAuthorizedApp": {in: "auth", insert: accessGiven},
		"org": {create: [][2]string{{"POST /management/v1/orgs", `{"name":"{new}"}`}}, answer: "id",
			remove: "DELETE /management/v1/orgs/me", instance: true, itself: true},
	}

	// references are the fields of bodies that name other objects.
	references = map[string]bool{
		"AddOrgMember.user_id": true, "AddProjectMember.user_id": true, "AddIamMember.user_id": true,
		"AddUserGrant.project_id": true, "AcceptMembership.membership_id": true,
		"AcceptMyMembership.membership_id": true,
	}

	// before are the requests that bring an object into the state that a method needs.
	before = map[string]string{
		"ReactivateUser":         "POST /management/v1/users/{user_id}/_deactivate",
		"UnlockUser":             "POST /management/v1/users/{user_id}/_lock",
		"RemovePhone":            "PUT /management/v1/users/{user_id}/phone",
		"ReactivateProject":      "POST /management/v1/projects/{project_id}/_deactivate",
		"ReactivateApp":          "POST /management/v1/projects/{project_id}/apps/{app_id}/_deactivate",
		"ReactivateProjectGrant": "POST /management/v1/projects/{project_id}/grants/{grant_id}/_deactivate",
		"DeactivateIdp":          "POST /management/v1/idps/{id}/_reactivate",
		"RemoveMachineSecret":    "PUT /management/v1/users/{user_id}/secret",
		"RemoveMessageText":      "PUT /management/v1/text/message/init/{language}",
		"RemoveBranding":         "PUT /management/v1/orgs/me/branding",
	}

	// values are the values of other fields, by method and field or by field alone.
	values = map[string]string{
		"editor_user_id": `""`, "aggregate_id": `""`, "request_id": `""`, // of searches, which find less with them
		"name": `"{new}"`, "AddProjectRole.key": `"{new}"`, "AddProjectRoles.roles": `[{"key":"{new}"}]`,
		"granted_org_id": `"{partner}"`, "project_grant_id": `""`,
		"public_key": `"{publicKey}"`, "ImportHumanUser.user_id": `"{new}"`, "user_name": `"{new}"`, "role_keys": `[]`,
		"profile": `{"firstName":"Mini","lastName":"Mouse"}`, "email": `"{new}@example.com"`,
		"ResendInitialization.email": `""`,
		"ImportHumanUser.email":      `{"email":"{new}@example.com"}`,
		"CreateHumanUser.email":      `{"email":"{new}@example.com"}`,
		"first_name":                 `"Mini"`, "last_name": `"Mouse"`, "UpdatePhone.phone": `"+41791234567"`,
		"SetUserMetadata.key": `"{new}"`, "old_password": `"correct horse"`, "new_password": `"correct horse battery"`,
		"SetPassword.password": `"correct horse battery"`, "ImportHumanUser.password": `""`, "code": `"ABCDEFGH"`,
		"recipient": `"mini@example.com"`, "client_id": `"herald"`, "client_secret": `"{new}"`,
		"kind": `"init"`, "language": `"en"`, "subject": `"Welcome"`, "primary_color": `"#0b6e4f"`,
		"logo": `"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5` +
			`ErkJggg=="`,
		"AddOrgMember.roles": `["ORG_OWNER_VIEWER"]`, "UpdateOrgMember.roles": `["ORG_USER_MANAGER"]`,
		"AddProjectMember.roles":    `["PROJECT_OWNER_VIEWER"]`,
		"UpdateProjectMember.roles": `["PROJECT_OWNER"]`, "AddIamMember.roles": `["IAM_OWNER_VIEWER"]`,
		"UpdateIamMember.roles": `["IAM_USER_MANAGER"]`,
	}
)

// languages are used once each, to write texts in them.
var languages = strings.Fields("bg cs de es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh")

// kindOf returns the kind of the object that a method's field names, or "" for other fields.
func kindOf(method, field string) string {
	named := func(part, then, otherwise string) string {
		if strings.Contains(method, part) {
			return then
		}
		return otherwise
	}
	switch field {
	case "project_id", "org_id", "idp_id":
		return strings.TrimSuffix(field, "_id")
	case "id": // the specification calls only the id of a provider so
		return "idp"
	case "app_id":
		return named("Api", "apiApp", "oidcApp")
	case "key_id":
		return named("Machine", "machineKey", "appKey")
	case "key":
		return named("SetUserMetadata", "", named("Metadata", "metadata", "role"))
	case "grant_id":
		return named("GrantedProject", "grantedProject", named("UserGrant", "userGrant", "projectGrant"))
	case "external_user_id":
		return named("My", "myIdpLink", "idpLink")
	case "token_id":
		return named("My", "myToken", "token")
	case "membership_id":
		return named("My", "myMembership", "membership")
	case "notification_id":
		return "notification"
	case "session_id":
		return named("My", "mySession", "session")
	case "client_id":
		return named("AuthorizedApp", "myAuthorizedApp", "")
	case "user_id":
		if strings.HasPrefix(method, "Add") {
			return named("Machine", "machine", "user")
		}
		return named("OrgMember", "orgMember", named("ProjectMember", "projectMember",
			named("IamMember", "iamMember", named("Machine", "machine", named("Otp", "otpUser", "user")))))
	}
	return ""
}

// fieldsOf returns the fields of a method that name objects, the outermost first.
func fieldsOf(m contract.Method) (fields []string) {
	_, path, _ := contract.Route(m.Rules[0])
	for _, name := range contract.PathFields(path) {
		if kindOf(string(m.Name()), name) != "" {
			fields = append(fields, name)
		}
	}
	for i := range m.Input().Fields().Len() {
		if name := string(m.Input().Fields().Get(i).Name()); references[string(m.Name())+"."+name] {
			fields = append(fields, name)
		}
	}
	return fields
}

func verbAndPath(m contract.Method) string {
	verb, path, _ := contract.Route(m.Rules[0])
	return verb + " " + path
}

func reads(m contract.Method) bool {
	route := verbAndPath(m)
	return strings.HasPrefix(route, "GET ") || strings.HasSuffix(route, "/_search") ||
		strings.HasSuffix(route, "/_preview")
}
