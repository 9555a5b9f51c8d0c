package domain

import (
	"slices"
	"strings"
)

// The scopes that have a meaning of their own.
const (
	ScopeOpenID        = "openid"
	ScopeProfile       = "profile"
	ScopeEmail         = "email"
	ScopePhone         = "phone"
	ScopeOfflineAccess = "offline_access"
	// ScopeResourceOwner asks for the organization of the user.
	ScopeResourceOwner = "urn:service:iam:user:resourceowner"
	// ScopeGroups and ScopeRoles ask for a flat list of the roles on the client's project.
	ScopeGroups = "groups"
	ScopeRoles  = "roles"

	// ScopeService makes a token valid for the API of Herald: its bearer acts as the user there.
	ScopeService = "urn:service:iam:org:project:id:service:aud"

	audiencePrefix = "urn:service:iam:org:project:id:"
	audienceSuffix = ":aud"
	orgPrefix      = "urn:service:iam:org:id:"
	rolePrefix     = "urn:service:iam:org:project:role:"
)

const (
	maxScope  = 4 << 10 // bytes of the parameter
	maxScopes = 50
	maxScoped = 200 // characters of an id or key inside a scope
	// maxResources is how many resource parameters a request may have.
	maxResources = 20
)

// Targets returns the scopes for what the values of the parameter resource name, each once (RFC 8707 section 2). A
// resource is a project, named as in the scope of its audience, with or without the end of it. So all else treats it
// like that scope. The project of Herald's own API is called "service".
func Targets(resources []string) ([]string, error) {
	resources = slices.DeleteFunc(slices.Clone(resources), func(r string) bool { return r == "" })
	if len(resources) > maxResources {
		return nil, ErrInvalidTarget.Say("resource: at most 20 of them")
	}
	var scopes []string
	for _, r := range resources {
		scope := strings.TrimSuffix(r, audienceSuffix) + audienceSuffix
		if _, ok := audienceOf(scope); !ok || strings.ContainsFunc(r, notScope) || strings.Contains(r, " ") {
			return nil, ErrInvalidTarget.Say("resource: it must be " + audiencePrefix + "{projectId}")
		}
		if !slices.Contains(scopes, scope) {
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

// Scopes returns the scopes that a scope parameter names and Herald knows, each once, in their order (RFC 6749 section
// 3.3), and then those of targets. Scopes that Herald does not know are left out. The answer names the scopes that are
// left. It never returns nil without an error.
func Scopes(parameter string, targets ...string) ([]string, error) {
	if len(parameter) > maxScope || strings.ContainsFunc(parameter, notScope) {
		return nil, ErrInvalidScope.Say("scope: at most 4096 printable ASCII characters")
	}
	scopes := []string{}
	for _, s := range append(strings.Split(parameter, " "), targets...) {
		if known(s) && !slices.Contains(scopes, s) {
			if scopes = append(scopes, s); len(scopes) > maxScopes {
				return nil, ErrInvalidScope.Say("scope: at most 50 scopes")
			}
		}
	}
	return scopes, nil
}

func notScope(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }

// ScopesSupported returns the scopes without an id in them. offline_access is for persons' logins.
func ScopesSupported() []string {
	return append(ConsentScopes(), ScopeGroups, ScopeRoles)
}

// ConsentScopes are those that a person agrees to. The roles on the client's own project are known to its owner.
func ConsentScopes() []string {
	return []string{ScopeOpenID, ScopeProfile, ScopeEmail, ScopePhone, ScopeOfflineAccess, ScopeResourceOwner}
}

// AsksGroups reports whether scopes ask for a flat list of roles.
func AsksGroups(scopes []string) bool {
	return slices.Contains(scopes, ScopeGroups) || slices.Contains(scopes, ScopeRoles)
}

// ScopesOfPages are those with which Herald's own pages act for the person who has logged in.
func ScopesOfPages() []string { return []string{ScopeOpenID, ScopeService} }

func known(scope string) bool {
	if slices.Contains(ScopesSupported(), scope) {
		return true
	}
	for _, prefix := range []string{orgPrefix, rolePrefix} {
		if rest, ok := strings.CutPrefix(scope, prefix); ok && rest != "" && len(rest) <= maxScoped {
			return true
		}
	}
	_, ok := audienceOf(scope)
	return ok
}

func audienceOf(scope string) (projectID string, ok bool) {
	id, ok := strings.CutPrefix(scope, audiencePrefix)
	if !ok {
		return "", false
	}
	id, ok = strings.CutSuffix(id, audienceSuffix)
	return id, ok && id != "" && len(id) <= maxScoped
}

// ScopeOfProject returns the scope that names a project.
func ScopeOfProject(id string) string { return audiencePrefix + id + audienceSuffix }

// Audience returns who may accept a token: the client, its project, and the projects that scopes name. The project of
// Herald itself is called "service".
func Audience(clientID, projectID string, scopes []string) []string {
	audience := []string{clientID}
	if projectID != "" {
		audience = append(audience, projectID)
	}
	for _, s := range scopes {
		if id, ok := audienceOf(s); ok && !slices.Contains(audience, id) {
			audience = append(audience, id)
		}
	}
	return audience
}

// NamedProjects returns the projects that scopes name, each once and sorted, without Herald and the client's own.
func NamedProjects(scopes []string, own string) []string {
	var ids []string
	for _, s := range scopes {
		if id, ok := audienceOf(s); ok && s != ScopeService && id != own {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// AskedOrg returns the organization to which the scopes restrict the login; empty for none. It refuses two
// organizations.
func AskedOrg(scopes []string) (string, error) {
	asked := ""
	for _, s := range scopes {
		id, ok := strings.CutPrefix(s, orgPrefix)
		if !ok {
			continue
		}
		if asked != "" && asked != id {
			return "", ErrInvalidScope.Say("scope: more than one organization")
		}
		asked = id
	}
	return asked, nil
}

// AskedRoles returns the keys of the project roles for which the scopes ask.
func AskedRoles(scopes []string) []string {
	var keys []string
	for _, s := range scopes {
		if key, ok := strings.CutPrefix(s, rolePrefix); ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// Narrow returns the scopes of an access token: all that were granted, or fewer if a request names scopes (RFC 6749
// section 6) or targets (RFC 8707 section 2.2). With targets the token is for no other projects. Every token is for the
// client's own project.
func Narrow(granted []string, parameter string, targets []string, own string) ([]string, error) {
	scopes := granted
	if parameter != "" {
		var err error
		if scopes, err = Scopes(parameter); err != nil {
			return nil, err
		}
	}
	for _, s := range scopes {
		if !slices.Contains(granted, s) {
			return nil, ErrInvalidScope.Say("scope: more than was granted")
		}
	}
	if len(targets) == 0 {
		return scopes, nil
	}
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool {
		_, named := audienceOf(s)
		return named
	})
	for _, t := range targets {
		switch {
		case slices.Contains(granted, t):
			scopes = append(scopes, t)
		case t != ScopeOfProject(own):
			return nil, ErrInvalidTarget.Say("resource: it was not granted; name it in the request for the login too")
		}
	}
	return scopes, nil
}
