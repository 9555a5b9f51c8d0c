package main

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/docs"
)

// sample returns the operation as a command that works in a shell with the token and the ids in variables.
// It has the fields that the request needs, and those for which there is an example.
func sample(o Operation) string {
	path := o.Path
	for _, name := range o.Bound {
		f := o.Input().Fields().ByName(protoreflect.Name(name))
		value, ok := examples[string(o.Name())+"."+name]
		if !ok {
			value = variable(f)
		}
		path = strings.Replace(path, "{"+f.JSONName()+"}", value, 1)
	}
	var fields []string
	for _, f := range bodyFields(o) {
		fields = append(fields, fmt.Sprintf("%q:%s", f.name, f.value))
	}
	command := `curl -H "Authorization: Bearer $TOKEN" `
	switch {
	case !o.Body && len(fields) > 0: // of the query, in which all values here are texts
		path += "?" + strings.NewReplacer(`"`, "", ":", "=").Replace(strings.Join(fields, "&"))
	case o.Body:
		command += "--json '{" + strings.Join(fields, ",") + "}' "
	}
	if o.Verb == "PUT" || o.Verb == "DELETE" {
		command += "-X " + o.Verb + " "
	}
	return command + `"` + docs.PublicURL + path + `"`
}

// bodyFields returns the fields beside the path that the request needs, and those for which there is an example, each
// with its value in JSON. The value of an id is a shell variable.
func bodyFields(o Operation) (fields object) {
	for i := range o.Input().Fields().Len() {
		f := o.Input().Fields().Get(i)
		value, ok := examples[string(o.Name())+"."+string(f.Name())]
		if !ok && demanded(f) {
			value, ok = examples[string(f.Name())]
			if !ok {
				value = `"'` + variable(f) + `'"`
			}
		}
		if !strings.Contains(o.Path, "{"+f.JSONName()+"}") && value != "" {
			fields = fields.with(f.JSONName(), value)
		}
	}
	return fields
}

// variable returns the name of the shell variable with the id in a field.
func variable(f protoreflect.FieldDescriptor) string {
	if f.Name() == "id" { // only providers call their own id so
		return "$IDP_ID"
	}
	return "$" + strings.ToUpper(string(f.Name()))
}

const (
	examplePerson  = `{"firstName":"Mini","lastName":"Mouse"}`
	exampleAddress = `"mini@example.com"`
	exampleImage   = `"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="`
	exampleFilter  = `[{"nameQuery":{"name":"sho","method":"TEXT_QUERY_METHOD_STARTS_WITH_IGNORE_CASE"}}]`
)

// examples are values of fields in JSON, by method and field or by field alone.
var examples = map[string]string{
	"name": `"Shop"`, "first_name": `"Mini"`, "last_name": `"Mouse"`, "profile": examplePerson,
	"email":        `{"email":` + exampleAddress + `}`,
	"phone":        `"+41791234567"`,
	"old_password": `"correct horse"`, "code": `"123456"`, "key": `"clerk"`, "roles": `["ORG_USER_MANAGER"]`,
	"client_id": `"herald"`, "client_secret": `"of-the-directory"`,
	"CreateMachineUser.user_name": `"deploy"`, "UpdateMachineUser.user_name": `"deployments"`,
	"CreateHumanUser.user_name": `"minnie"`, "UpdateUserName.user_name": `"mouse"`, "IsUserUnique.user_name": `"mini"`,
	"ImportHumanUser.user_id": `"mini-mouse"`, "ImportHumanUser.user_name": `"mini"`,
	"ImportHumanUser.profile": examplePerson, "ImportHumanUser.email": `{"email":` + exampleAddress + `}`,
	"ImportUsers.data_orgs": importExample, "CheckImport.data_orgs": importExample,
	"UpdateEmail.email": exampleAddress, "UpdateMyEmail.email": exampleAddress,
	"SetPassword.password": `"correct horse battery"`, "UpdateMyPassword.new_password": `"correct horse battery"`,
	"VerifyMyEmail.code": `"ABCDEFGH"`, "SetUserMetadata.key": "tier", "SetUserMetadata.value": `"Z29sZA=="`,
	"AddIamMember.roles": `["IAM_OWNER_VIEWER"]`, "UpdateIamMember.roles": `["IAM_USER_MANAGER"]`,
	"AddProjectMember.roles": `["PROJECT_OWNER_VIEWER"]`, "UpdateProjectMember.roles": `["PROJECT_OWNER"]`,
	"AddProjectRoles.roles": `[{"key":"cashier"},{"key":"manager"}]`, "UpdateProjectRole.display_name": `"Clerk"`,
	"CreateProject.project_role_assertion": "true", "SearchProjects.queries": exampleFilter,
	"SearchProjects.query": `{"limit":50,"asc":true}`, "SearchOrgs.queries": exampleFilter,
	"CreateOidcApp.redirect_uris":    `["https://shop.example.com/callback"]`,
	"UpdateOidcConfig.redirect_uris": `["https://shop.example.com/callback"]`,
	"SearchUsers.queries":            `[{"emailQuery":{"email":` + exampleAddress + `}}]`,
	"SendTestMail.recipient":         exampleAddress,
	"SetSmtp.url":                    `"smtp://mail.example.com:587"`,
	"SetSmtp.user":                   `"herald"`, "SetSmtp.password": `"of-the-server"`,
	"SetSmtp.sender_address": `"no-reply@example.com"`, "SetSmtp.sender_name": `"Example"`,
	"TestSmtp.smtp": `{"url":"smtp://mail.example.com:587","user":"herald","password":"of-the-server",` +
		`"senderAddress":"no-reply@example.com"}`,
	"TestSmtp.recipient":  exampleAddress,
	"GetMessageText.kind": "init", "GetMessageText.language": "de",
	"GetDefaultMessageText.kind": "init", "GetDefaultMessageText.language": "de",
	"SetMessageText.kind": "init", "SetMessageText.language": "de", "SetMessageText.title": `"Hallo {{.FirstName}}"`,
	"RemoveMessageText.kind": "init", "RemoveMessageText.language": "de",
	"PreviewMessageText.kind": "init", "PreviewMessageText.language": "de",
	"SetBranding.primary_color": `"#0b6e4f"`, "SetBrandingLogo.logo": exampleImage,
	"PreviewMessageText.title": `"Hallo {{.FirstName}}"`, "SetDefaultLanguage.language": "de",
	"CreateDirectoryIdp.name": `"Company"`, "UpdateDirectoryIdp.name": `"Company"`,
	"UpdateProject.name": `"Web shop"`, "CreateOrg.name": `"Acme"`, "UpdateMyOrg.name": `"Acme Ltd"`,
	"CreateApiApp.name":      `"Checkout"`,
	"CreateMachineUser.name": `"Deployments"`, "UpdateMachineUser.name": `"Deployments"`,
}

// importExample has other ids and names than docs/moving-in.md, so that both can be tried on one instance.
const importExample = `{"orgs":[{"orgId":"books","org":{"name":"The bookshop"},"humanUsers":[{"userId":"b1","user":` +
	`{"userName":"rosalind","profile":{"firstName":"Rosalind","lastName":"Franklin"},` +
	`"email":{"email":"rosalind@example.com"}}}]}]}`
