package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"herald/shared/caller"
	"herald/shared/contract"
)

// Threats says who may do what to whom. It has what the running program reads from the contracts, so it cannot be
// older than what Herald does.
type Threats struct {
	Roles []caller.Role
	// Held are the operations that need a permission, sorted by permission.
	Held []Held
	// Own are the operations of everybody with a token, Public those without a token.
	Own, Public []Operation
	// Pages are the methods that answer requests for pages and endpoints, Internal those of services alone.
	Pages, Internal []contract.Method
}

// Held is a permission with the roles that hold it and the operations that need it.
type Held struct {
	Permission string
	Roles      []string
	Operations []Operation
}

// Threats sorts the methods by who may call them.
func (c *Contract) Threats() (t Threats) {
	for _, level := range []caller.Level{caller.Instance, caller.Organization, caller.Project} {
		t.Roles = append(t.Roles, caller.Roles(level)...)
	}
	byPermission := map[string][]Operation{}
	for _, o := range c.Operations {
		switch a := o.Access; {
		case a.GetPermission() != "":
			byPermission[a.GetPermission()] = append(byPermission[a.GetPermission()], o)
		case a.GetAuthenticated():
			t.Own = append(t.Own, o)
		default:
			t.Public = append(t.Public, o)
		}
	}
	for _, permission := range slices.Sorted(maps.Keys(byPermission)) {
		h := Held{Permission: permission, Operations: byPermission[permission]}
		for _, r := range t.Roles {
			if slices.Contains(r.Permissions, permission) {
				h.Roles = append(h.Roles, r.Name)
			}
		}
		t.Held = append(t.Held, h)
	}
	for _, m := range c.Internal {
		if len(m.Pages) > 0 {
			t.Pages = append(t.Pages, m)
		} else {
			t.Internal = append(t.Internal, m)
		}
	}
	byName := func(a, b contract.Method) int { return cmp.Compare(a.Procedure(), b.Procedure()) }
	slices.SortFunc(t.Pages, byName)
	slices.SortFunc(t.Internal, byName)
	return t
}

// protection lists what protects a method besides its permission.
func protection(m contract.Method) string {
	a, all := m.Access, []string{}
	add := func(there bool, format string, arguments ...any) {
		if there {
			all = append(all, fmt.Sprintf(format, arguments...))
		}
	}
	add(a.GetActsOn() != "", "not on a user who has a permission that the caller lacks")
	add(a.GetActsOnNobody() != "", "on any user: %s", a.GetActsOnNobody())
	add(a.GetProject() != "", "a role on the project is enough")
	add(a.GetFreshLogin() && a.GetAuthenticated(), "only after a login of the last 10 minutes")
	add(a.GetFreshLogin() && !a.GetAuthenticated(), "for oneself only after a login of the last 10 minutes")
	add(a.GetNotForApps() && a.GetAuthenticated(), "not by an application that is not trusted")
	add(a.GetNotForApps() && !a.GetAuthenticated(), "for oneself not by an application that is not trusted")
	add(a.GetEndsToken() != "", "a token may end itself")
	add(a.GetAuthenticated() && !slices.Contains(m.Scopes, contract.Audience), "scope `openid` is enough")
	add(len(a.GetForwarded()) > 0, "also called by %s", strings.Join(a.GetForwarded(), ", "))
	return strings.Join(all, "; ")
}

// doors returns the services that answer requests for pages and endpoints, by the beginnings of their paths.
func doors(pages []contract.Method) map[string]string {
	all := map[string]string{}
	for _, m := range pages {
		for _, path := range slices.Concat(m.Pages, m.Posts) {
			all[path] = m.Owner()
		}
	}
	return all
}
