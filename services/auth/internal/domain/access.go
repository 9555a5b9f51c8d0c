package domain

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
)

// Access is what a user has on a project, and whether a client may have tokens for it.
type Access struct {
	Project Project
	// OrgHasProject reports whether the user's organization owns the project or has accepted an active grant of it, so
	// that its people are not asked.
	OrgHasProject bool
	// Grounds names why the client's organization may have tokens for the project; empty if it may not. It is never the
	// same again after that has ended.
	Grounds string
	Roles   []GrantedRole
}

// GrantedRole is a role on a project and the organization that gave it.
type GrantedRole struct{ Key, OrgID string }

// Checks reports whether the project gives tokens to some users only.
func (p Project) Checks() bool { return p.RoleCheck || p.GrantCheck }

// Admit returns ErrAccessDenied for a user who gets no tokens for the project: with hasProjectCheck the user's
// organization must own the project or have accepted an active grant of it, with projectRoleCheck the user must have a
// role on it.
func (p Project) Admit(a Access) error {
	switch {
	case p.GrantCheck && !a.OrgHasProject:
		return ErrAccessDenied.Say("the organization of the user has no grant of the project")
	case p.RoleCheck && len(a.Roles) == 0:
		return ErrAccessDenied.Say("the user has no role on the project")
	}
	return nil
}

// Reach is what a user and a client have on the projects for which a token is.
type Reach struct {
	// Own is the project of the application; empty for a machine user.
	Own Access
	// Named are the named projects that exist.
	Named []Access
}

// Agreed reports whether the user's organization has agreed for its people that the client gets tokens for all
// projects.
func (r Reach) Agreed() bool {
	return r.Own.OrgHasProject && !slices.ContainsFunc(r.Named, func(a Access) bool { return !a.OrgHasProject })
}

// All returns what they have on all projects.
func (r Reach) All() []Access { return append([]Access{r.Own}, r.Named...) }

// Only returns what they have on their own project, and on those of the named ones.
func (r Reach) Only(named []string) Reach {
	r.Named = slices.DeleteFunc(slices.Clone(r.Named), func(a Access) bool {
		return !slices.Contains(named, a.Project.ID)
	})
	return r
}

// On returns what the user has on a project.
func (r Reach) On(projectID string) Access {
	for _, a := range r.All() {
		if a.Project.ID == projectID {
			return a
		}
	}
	return Access{}
}

// Admit returns ErrInvalidScope or ErrInvalidTarget if the client's organization may not have tokens for a project that
// the scopes name, and ErrAccessDenied for a user who gets no tokens for one of the projects. The checks of a project
// are about users, so an application that logs in by itself passes them.
func (a Authorization) Admit(r Reach) error {
	for _, id := range a.Named() {
		if r.On(id).Grounds == "" {
			return a.foreign(id)
		}
	}
	if a.UserID == "" {
		return nil
	}
	for _, access := range r.All() {
		if err := access.Project.Admit(access); err != nil {
			return err
		}
	}
	return nil
}

// foreign refuses a project for which the client may not have tokens, as the parameter that named it.
func (a Authorization) foreign(projectID string) error {
	const names = ": it names a project that does not belong to the client's organization, or of which the " +
		"organization has accepted no grant"
	if slices.Contains(a.Targets, ScopeOfProject(projectID)) {
		return ErrInvalidTarget.Say("resource" + names)
	}
	return ErrInvalidScope.Say("scope" + names)
}

// GroundsIn returns a name for why the client may have tokens for all projects that the scopes name; empty if they name
// none.
func (a Authorization) GroundsIn(r Reach) string {
	named := a.Named()
	if len(named) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, id := range named {
		hash.Write([]byte(id + " " + r.On(id).Grounds + " "))
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil))
}
