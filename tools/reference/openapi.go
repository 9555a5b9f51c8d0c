package main

import (
	_ "embed"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/docs"
	"herald/shared/caller"
	"herald/shared/contract"
)

//go:embed text/openapi.md
var openAPIText string

// OpenAPI returns the description of the REST API.
func (c *Contract) OpenAPI() ([]byte, error) {
	var in []protoreflect.MessageDescriptor
	for _, o := range c.Operations {
		in = append(in, o.Input())
	}
	requested := reachable(in)
	s := &schemas{
		made:      map[string]object{},
		faults:    Faults(c.files),
		inRequest: func(m protoreflect.MessageDescriptor) bool { return requested[m.FullName()] },
	}
	s.required = func(f protoreflect.FieldDescriptor) bool {
		if s.inRequest(f.ContainingMessage()) {
			return demanded(f)
		}
		return !f.HasPresence() // answers have fields with default values too
	}
	paths := s.paths(c.Operations)
	failure, err := s.failure(c.files)
	if err != nil {
		return nil, err
	}
	var tags []object
	for _, d := range c.Services {
		tags = append(tags, object{{"name", string(d.Name())}, {"description", comment(d)}})
	}
	tags = append(tags, object{{"name", oauthTag}, {"description", "The endpoints of OAuth 2.0 and OpenID Connect. " +
		"Their parameters and answers are those of the standards; this list has the usual ones."}})
	slices.SortFunc(tags, func(a, b object) int { return strings.Compare(a[0].value.(string), b[0].value.(string)) })
	return marshal(object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "Herald"}, {"version", "v1"}, {"description", openAPIText},
			{"license", object{{"name", "Apache 2.0"}, {"identifier", "Apache-2.0"}}},
		}},
		{"servers", []object{{{"url", "/"}}}},
		{"tags", tags},
		{"paths", paths.join(oauthPaths())},
		{"components", object{
			{"securitySchemes", securitySchemes()},
			{"parameters", object{{"Organization", organization}}},
			{"responses", s.failures(failure)},
			{"schemas", s.components()},
		}},
	}, "  ")
}

// securitySchemes returns the ways to a token: one that somebody has, and a login (specification, section 5).
func securitySchemes() object {
	scopes := object{
		{contract.OpenID, "Who the caller is: needed by every operation with a token."},
		{contract.Audience, "The token may be used at this API: needed by all but some reads of one's own account."},
	}
	return object{
		{"bearer", object{
			{"type", "http"}, {"scheme", "bearer"},
			{"description", "A personal access token, or an access token with the scopes that the operation names."},
		}},
		{"client", object{
			{"type", "http"}, {"scheme", "basic"},
			{"description", "The id and the secret of an application or a machine user, at the endpoints of " +
				"OAuth 2.0. The other ways are `client_secret_post`, `private_key_jwt` and none."},
		}},
		{"oauth2", object{
			{"type", "oauth2"},
			{"description", "A login in the browser. The addresses are below the public URL of the instance; " +
				"`/.well-known/openid-configuration` has them in full."},
			{"flows", object{{"authorizationCode", object{
				{"authorizationUrl", docs.PublicURL + "/oauth/v2/authorize"},
				{"tokenUrl", docs.PublicURL + "/oauth/v2/token"},
				{"refreshUrl", docs.PublicURL + "/oauth/v2/token"},
				{"scopes", scopes},
			}}}},
		}},
	}
}

// mediaTypes are those that the specification offers for requests and answers.
var mediaTypes = []string{"application/json", "application/grpc", "application/grpc-web+proto"}

// content returns a body with a schema in each media type, and an example in JSON.
func content(schema object, example any) (all object) {
	for _, media := range mediaTypes {
		all = all.with(media, object{{"schema", schema}})
	}
	all[0].value = object{{"schema", schema}, {"example", example}}
	return all
}

func (s *schemas) paths(operations []Operation) object {
	var paths object
	for _, o := range operations {
		if len(paths) == 0 || paths[len(paths)-1].name != o.Path {
			paths = paths.with(o.Path, object{})
		}
		at := &paths[len(paths)-1]
		at.value = at.value.(object).with(strings.ToLower(o.Verb), s.operation(o))
	}
	return paths
}

func (s *schemas) operation(o Operation) object {
	short, rest := summary(comment(o))
	entry := object{
		{"operationId", o.ID}, {"tags", []string{string(o.Parent().Name())}},
		{"summary", short}, {"description", sentences(rest, who(o), guards(o), "Over gRPC: `"+o.Procedure()+"`.")},
	}
	if o.Access.Permission != "" {
		entry = entry.with("x-permission", o.Access.Permission)
	}
	entry = entry.with("security", security(o))
	// The language is text, because Redoc colours samples in languages that it knows with inline styles, and the page's
	// policy refuses these.
	entry = entry.with("x-codeSamples", []object{{{"lang", "text"}, {"label", "curl"}, {"source", sample(o)}}})
	if all := s.parameters(o); len(all) > 0 {
		entry = entry.with("parameters", all)
	}
	if o.Body {
		entry = entry.with("requestBody", s.body(o))
	}
	return entry.with("responses", s.responses(o)).with("x-faults", byStatus(o, s.faults))
}

// who returns a sentence about who may call.
func who(o Operation) string {
	switch a := o.Access; {
	case a.Public:
		return "No token is needed."
	case a.Permission == "":
		return "Any valid token will do."
	case a.Project != "":
		return "Needs the permission `" + a.Permission + "` in the organization acted on or on the project: " +
			holders(a.Permission) + "."
	default:
		return "Needs the permission `" + a.Permission + "` in the organization acted on: " +
			holders(a.Permission) + "."
	}
}

// guards returns sentences about what else protects a method.
func guards(o Operation) string {
	a := o.Access
	var said []string
	if a.ActsOn != "" {
		said = append(said, "It fails with `ESCALATION` if the user has a permission that the caller lacks.")
	}
	switch {
	case a.FreshLogin && a.ActsOn != "":
		said = append(said, "Callers who name themselves need a login that is at most 10 minutes old. "+
			"A personal access token is not enough.")
	case a.FreshLogin:
		said = append(said, "It needs a login that is at most 10 minutes old. A personal access token is not enough.")
	}
	switch {
	case a.NotForApps && o.User() != nil:
		said = append(said, "An application that is not trusted may not do it to the person for whom it acts.")
	case a.NotForApps:
		said = append(said, "An application that is not trusted may not do it.")
	}
	if a.EndsToken != "" {
		said = append(said, "The personal access token of the call may end itself.")
	}
	return strings.Join(said, " ")
}

// holders returns the names of the roles that have a permission.
func holders(name string) string {
	var found []string
	for _, scope := range []caller.Level{caller.Instance, caller.Organization, caller.Project} {
		for _, r := range caller.Roles(scope) {
			if slices.Contains(r.Permissions, name) {
				found = append(found, r.Name)
			}
		}
	}
	return strings.Join(found, ", ")
}

func security(o Operation) []object {
	if o.Access.Public {
		return []object{}
	}
	return []object{{{"bearer", o.Scopes}}, {{"oauth2", o.Scopes}}}
}

var organization = object{
	{"name", "x-service-orgid"}, {"in", "header"}, {"schema", object{{"type", "string"}}},
	{"description", "The organization acted on; the caller's own where it is absent. Under `/auth/v1` and " +
		"`/admin/v1` it changes nothing, but is checked."},
}

// parameters returns those of the path, those of the query and the organization.
func (s *schemas) parameters(o Operation) []object {
	var all []object
	for _, name := range o.Bound {
		f := o.Input().Fields().ByName(protoreflect.Name(name))
		all = append(all, s.parameter(f, f.JSONName(), "path").with("required", true))
	}
	if !o.Body {
		all = append(all, s.query(o.Input(), o.Bound, "")...)
	}
	if !o.Access.Public {
		all = append(all, object{{"$ref", "#/components/parameters/Organization"}})
	}
	return all
}

// query returns the fields that a URL can have: single values of the request and of messages in it.
func (s *schemas) query(m protoreflect.MessageDescriptor, without []string, prefix string) []object {
	var all []object
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.IsList() || f.IsMap() || slices.Contains(without, string(f.Name())) {
			continue
		}
		name := prefix + f.JSONName()
		if inner := f.Message(); inner != nil && inner.ParentFile().Package() != "google.protobuf" {
			if strings.Count(name, ".") < 3 { // a message may contain itself
				all = append(all, s.query(inner, nil, name+".")...)
			}
			continue
		}
		p := s.parameter(f, name, "query")
		if prefix == "" && demanded(f) {
			p = p.with("required", true)
		}
		all = append(all, p)
	}
	return all
}

func (s *schemas) parameter(f protoreflect.FieldDescriptor, name, in string) object {
	schema := s.field(f)
	p := object{{"name", name}, {"in", in}}
	if i := slices.IndexFunc(schema, func(m member) bool { return m.name == "description" }); i >= 0 {
		p = p.with("description", schema[i].value)
		schema = slices.Delete(schema, i, i+1)
	}
	return p.with("schema", schema)
}

// body returns the request without the fields in the path.
func (s *schemas) body(o Operation) object {
	var schema object
	if len(o.Bound) == 0 {
		schema = s.ref(o.Input())
	} else {
		name := o.Owner() + "." + string(o.Name()) + "Body"
		s.made[name] = s.message(o.Input(), o.Bound)
		schema = refer(name)
	}
	required := false
	for i := range o.Input().Fields().Len() {
		f := o.Input().Fields().Get(i)
		required = required || s.required(f) && !slices.Contains(o.Bound, string(f.Name()))
	}
	return object{{"required", required}, {"content", content(schema, exampleBody(o))}}
}

// failureResponses are the responses for refusals to which callers can react.
var failureResponses = []struct{ status, name, text string }{
	{"400", "Invalid", "The request is malformed, a field breaks a rule, or the object is in the wrong state. " +
		"`details` names each faulty field."},
	{"401", "Unauthenticated", "The token is missing, malformed, expired, revoked, or its user is not active."},
	{"403", "Denied", "The caller lacks the permission in the organization acted on, or the token a scope. `details` " +
		"names the permission and the organization."},
	{"404", "NotFound", "There is no such object in the organization acted on."},
	{"409", "Exists", "The id or the name is taken, or what is asked for exists already."},
	{"429", "Exhausted", "Too many requests or tries; `Retry-After` says when to come back."},
	{"503", "Unavailable", "A part of the system is away and nothing was written; try again after `Retry-After`."},
	{"504", "Late", "The answer took too long. Nothing was changed; try again."},
	{"504", "UnknownSafe", "`OUTCOME_UNKNOWN`: the answer took too long or was lost, and the change may have been " +
		"made. It is safe to send the request again: it changes nothing that the first one has changed."},
	{"504", "Unknown", "`OUTCOME_UNKNOWN`: the answer took too long or was lost, and the change may have been made. " +
		"Read before you send the request again, because it may make a second change. What has an id or a unique " +
		"name that the request gives is never made twice: the second answer is then 409, or for an import the " +
		"first one's."},
	{"default", "Failed", "Any other refusal: 413 and 415 for a body that is too large or of another media type, 431 " +
		"for headers that are too large, 500 for a fault of ours."},
}

// failureExamples are the ids of the errors that stand in the examples of the responses.
var failureExamples = map[string]string{
	"Invalid": "INVALID_ARGUMENT", "Unauthenticated": "UNAUTHENTICATED", "Denied": "PERMISSION_DENIED",
	"NotFound": "USER_NOT_FOUND", "Exists": "USER_NAME_TAKEN", "Exhausted": "OVERLOADED",
	"Unavailable": "UNAVAILABLE", "Late": "DEADLINE_EXCEEDED", "UnknownSafe": "OUTCOME_UNKNOWN",
	"Unknown": "OUTCOME_UNKNOWN", "Failed": "INTERNAL",
}

// exampleFailure returns an error body for a response.
func (s *schemas) exampleFailure(response string) object {
	i := slices.IndexFunc(s.faults, func(f Fault) bool { return f.ID == failureExamples[response] })
	f := s.faults[i]
	return object{{"code", int(f.Code)}, {"message", f.Message}, {"details", []object{{
		{"@type", "type.googleapis.com/herald.v1.ErrorDetail"}, {"id", f.ID}, {"message", f.Message},
	}}}}
}

// late returns the name of the response for a method that may take too long.
func late(o Operation) string {
	switch {
	case o.Safe():
		return "Late"
	case o.Idempotent():
		return "UnknownSafe"
	default:
		return "Unknown"
	}
}

func (s *schemas) failures(schema object) object {
	retry := object{{"Retry-After", object{
		{"description", "Seconds to wait."}, {"schema", object{{"type", "integer"}}},
	}}}
	challenge := object{{"WWW-Authenticate", object{{"description", "What the token lacks (RFC 6750, section 3)."},
		{"schema", object{{"type", "string"}}}}}}
	headers := map[string]object{"401": challenge, "403": challenge, "429": retry, "503": retry}
	var all object
	for _, f := range failureResponses {
		r := object{{"description", f.text}}
		if h, ok := headers[f.status]; ok {
			r = r.with("headers", h)
		}
		all = all.with(f.name, r.with("content", content(schema, s.exampleFailure(f.name))))
	}
	return all
}

func (s *schemas) responses(o Operation) object {
	all := object{{"200", object{
		{"description", "Done."},
		{"content", content(s.ref(o.Output()), exampleOf(o.Output()))},
	}}}
	for _, f := range failureResponses {
		open := o.Access.Public && (f.status == "401" || f.status == "403")
		taken := f.status == "409" && (o.Safe() || o.Verb == "DELETE")
		if open || taken || f.status == "504" && f.name != late(o) {
			continue
		}
		all = all.with(f.status, object{{"$ref", "#/components/responses/" + f.name}})
	}
	return all
}

// failureDetails are the messages in the details of an error.
var failureDetails = []protoreflect.FullName{"herald.v1.ErrorDetail", "google.rpc.BadRequest", "google.rpc.RetryInfo"}

// failure returns the schema of the error body, which has no fields with default values.
func (s *schemas) failure(files *protoregistry.Files) (object, error) {
	loose := &schemas{
		made: s.made, inRequest: s.inRequest,
		required: func(f protoreflect.FieldDescriptor) bool { return f.Name() == "id" },
	}
	var details []object
	var mapping object
	for _, name := range failureDetails {
		d, err := files.FindDescriptorByName(name)
		if err != nil {
			return nil, err
		}
		url := "type.googleapis.com/" + string(name)
		typed := object{
			{"type", "object"}, {"required", []string{"@type"}}, {"properties",
				object{{"@type", object{{"const", url}}}}},
		}
		s.made[nameOf(d)] = object{{"allOf", []object{typed, loose.message(d.(protoreflect.MessageDescriptor), nil)}}}
		details = append(details, refer(nameOf(d)))
		mapping = mapping.with(url, "#/components/schemas/"+nameOf(d))
	}
	s.made["Error"] = object{
		{"type", "object"}, {"required", []string{"code", "message", "details"}},
		{"properties", object{
			{"code", object{{"type", "integer"}, {"format", "int32"}, {"description", "The gRPC status code."}}},
			{"message", object{{"type", "string"}, {"description", "For people; may change."}}},
			{"details", object{
				{"type", "array"}, {"description", "The first one has the error's `id`; others may follow."},
				{"items", object{
					{"oneOf", details}, {"discriminator", object{{"propertyName", "@type"}, {"mapping", mapping}}},
				}},
			}},
		}},
		{"examples", []object{s.exampleFailure("NotFound")}},
	}
	return refer("Error"), nil
}
