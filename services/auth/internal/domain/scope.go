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
)

// Scopes returns the scopes that a scope parameter names and Herald knows, each once, in their order (RFC 6749 section
// 3.3). Scopes that Herald does not know are left out. The answer names the scopes that are left. It never returns nil
// without an error.
func Scopes(parameter string) ([]string, error) {
	if len(parameter) > maxScope || strings.ContainsFunc(parameter, notScope) {
		return nil, ErrInvalidScope.Say("scope: at most 4096 printable ASCII characters")
	}
	scopes := []string{}
	for s := range strings.SplitSeq(parameter, " ") {
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
	return []string{ScopeOpenID, ScopeProfile, ScopeEmail, ScopePhone, ScopeOfflineAccess, ScopeResourceOwner}
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

// Narrow returns the scopes of a request for fewer ones than were granted (RFC 6749 section 6): all of them without a
// request.
func Narrow(granted []string, parameter string) ([]string, error) {
	if parameter == "" {
		return granted, nil
	}
	asked, err := Scopes(parameter)
	if err != nil {
		return nil, err
	}
	for _, s := range asked {
		if !slices.Contains(granted, s) {
			return nil, ErrInvalidScope.Say("scope: more than was granted")
		}
	}
	return asked, nil
}
