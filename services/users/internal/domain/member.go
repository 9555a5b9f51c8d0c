package domain

import (
	"fmt"
	"slices"

	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/resource"
)

// MembershipState says whether the roles of a member count.
type MembershipState int16

// The states, with the numbers of the API. Roles of a pending membership give nothing.
const (
	MembershipActive MembershipState = iota + 1
	MembershipPending
)

// Member is a user's roles on the instance, an organization or a project. Both ids are empty for the
// instance.
type Member struct {
	resource.Record
	UserID    string
	OrgID     string
	ProjectID string
	Roles     []string
	State     MembershipState
}

// Accept makes a pending membership active.
func (m *Member) Accept() error {
	if m.State != MembershipPending {
		return usersfault.ErrMembershipNotPending
	}
	m.State = MembershipActive
	return nil
}

// Membership returns the member for package caller.
func (m Member) Membership() caller.Membership {
	return caller.Membership{OrganizationID: m.OrgID, ProjectID: m.ProjectID, Roles: m.Roles}
}

// CheckEscalation returns a fault if a caller lacks a permission of members, whom the caller wants to
// make or to act on. mine are the caller's roles in the organization orgID. The fault names the
// permission, and the organization in which it is missing, or none if that is the whole instance.
func CheckEscalation(mine []caller.Membership, orgID string, members ...Member) error {
	theirs := make([]caller.Membership, len(members))
	for i, m := range members {
		theirs[i] = m.Membership()
	}
	missing, of, lacks := caller.MissingPermission(mine, theirs)
	if !lacks {
		return nil
	}
	where := of.OrganizationID
	if where == "" && !caller.Holds(mine, missing, orgID, "") {
		where = orgID
	}
	place := "organization " + where
	if where == "" {
		place = "the whole instance"
	}
	return usersfault.ErrEscalation.Lacking(missing, where).Say("%s: %s is missing in %s",
		usersfault.ErrEscalation.Message, missing, place)
}

// Assign replaces the roles. It returns false if they are the same.
func (m *Member) Assign(roles []string) bool {
	roles = slices.Sorted(slices.Values(roles))
	changed := !slices.Equal(m.Roles, roles)
	m.Roles = roles
	return changed
}

func (m Member) scope() caller.Level {
	switch {
	case m.ProjectID != "":
		return caller.Project
	case m.OrgID != "":
		return caller.Organization
	default:
		return caller.Instance
	}
}

// CheckRoles returns a fault for roles of another scope than the member's.
func (m Member) CheckRoles(roles []string) error {
	for i, name := range roles {
		if !caller.IsRole(m.scope(), name) {
			path := fmt.Sprintf("roles[%d]", i)
			return usersfault.ErrRoleUnknown.Say("%s: there is no role %q here", path, name).On(path,
				"is not a role here")
		}
	}
	return nil
}
