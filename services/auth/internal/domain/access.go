package domain

// Access is what a user has on a project.
type Access struct {
	// OrgHasProject reports whether the user's organization owns the project or has an active grant of it.
	OrgHasProject bool
	Roles         []GrantedRole
}

// GrantedRole is a role on a project and the organization that gave it.
type GrantedRole struct{ Key, OrgID string }

// Checks reports whether the project gives tokens to some users only.
func (p Project) Checks() bool { return p.RoleCheck || p.GrantCheck }

// Admit returns ErrAccessDenied for a user who gets no tokens of the project's applications: with hasProjectCheck the
// user's organization must own the project or have an active grant of it, with projectRoleCheck the user must have a
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
