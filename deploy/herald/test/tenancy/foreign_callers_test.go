package tenancy_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"herald/shared/caller"
	"herald/shared/secret"
)

// unknownOrg is a valid id of an organization that does not exist.
const unknownOrg = "01900000-0000-7000-8000-000000000000"

// visitor is a caller. The roles are those that the administrator gave it.
type visitor struct {
	name, token, id, org string
	roles                []caller.Membership
	// refused callers have no valid token.
	refused bool
	// projects says that the caller owns every project that is made for the calls.
	projects bool
}

// visitors are the callers of the matrix. Roles are in the caller's own organization, unless the
// name says otherwise.
func (w *world) visitors() []visitor {
	nobody := visitor{name: "nobody", refused: true}
	garbage, unknown := nobody, nobody
	garbage.name, garbage.token = "garbage", "garbage"
	unknown.name, unknown.token = "an unknown token", secret.PersonalAccessToken.New().Reveal()
	expired := w.visit("the owner with an expired token", w.own.org, "ORG_OWNER", "")
	w.expire(expired.id)
	inactive := w.visit("an inactive owner", w.own.org, "ORG_OWNER", "")
	w.must(w.own.org, "POST /management/v1/users/"+inactive.id+"/_deactivate", `{}`)
	expired.refused, inactive.refused = true, true
	return []visitor{
		nobody, garbage, unknown, expired, inactive,
		w.visit("a user without roles", w.own.org, "", ""),
		w.visit("a viewer", w.own.org, "ORG_OWNER_VIEWER", ""),
		w.visit("a user manager", w.own.org, "ORG_USER_MANAGER", ""),
		w.visit("the owner of another project", w.own.org, "PROJECT_OWNER", w.own.home),
		w.this,
		w.visit("the organization's owner", w.own.org, "ORG_OWNER", ""),
		w.visit("another organization's owner", w.third, "ORG_OWNER", ""),
		w.grantee(),
		w.give(w.visit("an owner from elsewhere", w.third, "", ""), w.own.org, "ORG_OWNER", ""),
		w.visit("the instance's viewer", w.home, "IAM_OWNER_VIEWER", ""),
		w.visit("the instance's owner", w.home, "IAM_OWNER", ""),
	}
}

// visit makes a user of an organization with a token, and a role there, in the instance or on one of
// its projects.
func (w *world) visit(name, org, role, project string) visitor {
	s := site{org: org}
	v := visitor{name: name, id: w.make(s, "user", nil, "user_id"), org: org}
	if role != "" {
		v = w.give(v, org, role, project)
	}
	v.token = w.must(org, "POST /management/v1/users/"+v.id+"/pats", `{}`)["token"].(string)
	return v
}

// give gives a role in an organization, in the instance or on a project.
func (w *world) give(v visitor, org, role, project string) visitor {
	of, in := caller.Membership{OrganizationID: org, ProjectID: project, Roles: []string{role}},
		"/management/v1/orgs/me"
	if project != "" {
		in = "/management/v1/projects/" + project
	} else if strings.HasPrefix(role, "IAM_") {
		of.OrganizationID, in = "", "/admin/v1"
	}
	w.must(org, "POST "+in+"/members", fmt.Sprintf(`{"userId":%q,"roles":[%q]}`, v.id, role))
	v.roles = append(slices.Clip(v.roles), of)
	return v
}

// grantee returns the owner of an organization to which the projects of the calls are granted, and
// who has a role on each of them.
func (w *world) grantee() visitor {
	org := w.make(site{}, "org", nil, "org_id")
	v := w.visit("the owner of an organization with grants", org, "ORG_OWNER", "")
	for _, made := range w.places {
		for _, p := range []place{own, sibling} {
			project := made[p]["project_id"]
			if project == "" {
				continue
			}
			grant := w.must(w.own.org, "POST /management/v1/projects/"+project+"/grants",
				fmt.Sprintf(`{"grantedOrgId":%q}`, org))["grantId"]
			w.must(org, "POST /management/v1/users/"+v.id+"/grants",
				fmt.Sprintf(`{"projectId":%q,"projectGrantId":%q}`, project, grant))
		}
	}
	return v
}

// expire ends the tokens of a user by the clock.
func (w *world) expire(userID string) {
	w.querying.Lock()
	defer w.querying.Unlock()
	done, err := w.db["users"].Exec(w.t.Context(),
		`update personal_access_tokens set expires_at = now() - interval '1 second' where user_id = $1`, userID)
	if err != nil || done.RowsAffected() != 1 {
		w.t.Errorf("%d tokens are expired: %v", done.RowsAffected(), err)
	}
}

// header is the organizations in the headers x-service-orgid of a call.
type header []string

// headers are those of the matrix: none, the caller's own organization, another one, one that does
// not exist, and two of them.
func (w *world) headers() []header {
	return []header{nil, {w.own.org}, {w.foreign.org}, {unknownOrg}, {w.own.org, w.foreign.org}}
}

// instance reports whether the caller has a role in the whole instance.
func (v visitor) instance() bool {
	return slices.ContainsFunc(v.roles, func(m caller.Membership) bool { return m.OrganizationID == "" })
}

// member reports whether the caller belongs to an organization or has a role there or on one of its
// projects.
func (v visitor) member(org string) bool {
	return v.org == org ||
		slices.ContainsFunc(v.roles, func(m caller.Membership) bool { return m.OrganizationID == org })
}

// acted returns the organization that a call acts on, or the status if the header must be refused.
func (a attempt) acted() (org string, refusal int) {
	switch {
	case len(a.header) > 1:
		return "", http.StatusBadRequest
	case len(a.header) == 0:
		return a.visitor.org, 0
	case a.visitor.instance() && a.header[0] == unknownOrg:
		return "", http.StatusNotFound
	case !a.visitor.instance() && !a.visitor.member(a.header[0]):
		return "", http.StatusForbidden
	case a.Home():
		return a.visitor.org, 0
	}
	return a.header[0], 0
}

// holds reports whether the caller's roles give a permission in an organization or, where the
// contract lets roles on it count, on the project of the call.
func (w *world) holds(a attempt, org, name string) bool {
	roles, project := a.visitor.roles, ""
	if field := a.Access.Project; field != "" {
		project = a.object.ids[field]
		if a.visitor.projects && a.object.of(field).in(own, sibling) {
			roles = append(slices.Clip(roles), caller.Membership{
				OrganizationID: w.own.org, ProjectID: project, Roles: []string{"PROJECT_OWNER"},
			})
		}
	}
	return caller.Holds(roles, name, org, project)
}
