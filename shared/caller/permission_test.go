package caller_test

import (
	"slices"
	"strings"
	"testing"

	"herald/shared/caller"
)

const (
	org, otherOrg = "o", "other o"
	project       = "p"
	otherProject  = "other p"
)

// roles repeats the documentation's table of roles; * stands for the rest of a name.
var roles = map[string]struct {
	scope  caller.Level
	holds  []string
	except []string
}{
	"IAM_OWNER":        {caller.Instance, []string{"*"}, nil},
	"IAM_OWNER_VIEWER": {caller.Instance, []string{"*.read"}, nil},
	"IAM_USER_MANAGER": {caller.Instance, []string{"user.read", "user.write", "user.delete"}, nil},
	"ORG_OWNER":        {caller.Organization, []string{"*"}, []string{"org.create", "iam.*"}},
	"ORG_OWNER_VIEWER": {caller.Organization, []string{"*.read"}, []string{"iam.*"}},
	"ORG_USER_MANAGER": {caller.Organization, []string{
		"user.read", "user.write", "user.delete", "user.grant.*", "org.read", "project.read", "project.role.read",
	}, nil},
	"ORG_SETTINGS_MANAGER": {caller.Organization, []string{"org.read", "org.write", "policy.*", "org.idp.*"}, nil},
	"ORG_PROJECT_CREATOR":  {caller.Organization, []string{"org.read", "project.create"}, nil},
	"PROJECT_OWNER":        {caller.Project, []string{"project.*"}, []string{"project.create"}},
	"PROJECT_OWNER_VIEWER": {caller.Project, []string{"project.*.read", "project.read"}, nil},
}

// permissions are those that the methods of the contracts require.
var permissions = strings.Fields(`
	org.read org.write org.delete org.create org.member.read org.member.write
	iam.read iam.write iam.member.read iam.member.write
	user.read user.write user.delete user.import user.credential.write user.grant.read user.grant.write
	project.read project.create project.write project.delete
	project.role.read project.role.write project.role.delete
	project.grant.read project.grant.write project.grant.delete
	project.member.read project.member.write project.member.delete
	project.app.read project.app.write project.app.delete
	policy.read policy.write policy.delete org.idp.read org.idp.write`)

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		before, after, wild := strings.Cut(p, "*")
		return !wild && p == name || wild && len(name) >= len(p)-1 && strings.HasPrefix(name, before) &&
			strings.HasSuffix(name, after)
	})
}

// Every role with every permission, held and needed on every object: 10 × 38 × 6 × 5 cases.
func TestMatrix(t *testing.T) {
	t.Parallel()
	places := []caller.Membership{
		{}, {OrganizationID: org}, {OrganizationID: otherOrg},
		{OrganizationID: org, ProjectID: project}, {OrganizationID: org, ProjectID: otherProject},
		{OrganizationID: otherOrg, ProjectID: otherProject},
	}
	scopes := []caller.Level{
		caller.Instance, caller.Organization, caller.Organization,
		caller.Project, caller.Project, caller.Project,
	}
	for role, said := range roles {
		for _, name := range permissions {
			holds := matches(said.holds, name) && !matches(said.except, name)
			for i, given := range places {
				given.Roles = []string{role}
				for _, asked := range places[1:] {
					reaches := (given.OrganizationID == "" || given.OrganizationID == asked.OrganizationID) &&
						(given.ProjectID == "" || given.ProjectID == asked.ProjectID)
					want := holds && scopes[i] == said.scope && reaches
					if got := caller.Holds([]caller.Membership{given}, name, asked.OrganizationID,
						asked.ProjectID); got != want {
						t.Errorf("%s in %+v: %s in %q on %q is %v", role, given, name, asked.OrganizationID,
							asked.ProjectID, got)
					}
				}
			}
		}
	}
	if len(permissions) != 38 {
		t.Errorf("%d permissions", len(permissions))
	}
}

func TestTableIsPublishedWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, scope := range []caller.Level{caller.Instance, caller.Organization, caller.Project} {
		for _, r := range caller.Roles(scope) {
			said, known := roles[r.Name]
			if !known || said.scope != scope || r.Level != scope || seen[r.Name] {
				t.Errorf("%s is published in scope %d", r.Name, scope)
			}
			seen[r.Name] = true
			if !slices.IsSorted(r.Permissions) ||
				len(slices.Compact(slices.Clone(r.Permissions))) != len(r.Permissions) {
				t.Errorf("%s: %v is not sorted, each once", r.Name, r.Permissions)
			}
			for _, p := range r.Permissions {
				if !slices.Contains(permissions, p) || !caller.IsPermission(p) {
					t.Errorf("%s holds %q, which no call asks for", r.Name, p)
				}
			}
			for other := range roles {
				if caller.IsRole(scope, other) != (roles[other].scope == scope) {
					t.Errorf("is %s a role of scope %d: %v", other, scope, caller.IsRole(scope, other))
				}
			}
		}
	}
	if len(seen) != len(roles) {
		t.Errorf("%d of %d roles are published", len(seen), len(roles))
	}
	for _, name := range []string{"", "user", "user.raed", "User.read", "*"} {
		if caller.IsPermission(name) || caller.IsRole(caller.Instance, name) {
			t.Errorf("%q is known", name)
		}
	}
}

func TestAboveProjects(t *testing.T) {
	t.Parallel()
	instance, organization := caller.AboveProjects(caller.Instance),
		caller.AboveProjects(caller.Organization)
	if !slices.Equal(instance, []string{"IAM_OWNER"}) || !slices.Equal(organization, []string{"ORG_OWNER"}) {
		t.Errorf("%v, %v", instance, organization)
	}
}

func TestCoversProjects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		memberships []caller.Membership
		want        bool
	}{
		{"nobody", nil, false},
		{"owner of the instance", at("", "", "IAM_OWNER_VIEWER", "IAM_OWNER"), true},
		{"owner of the organization", at("a", "", "ORG_PROJECT_CREATOR", "ORG_OWNER"), true},
		{"owner of another", at("b", "", "ORG_OWNER"), false},
		{"owner of a project", at("a", "p", "PROJECT_OWNER"), false},
		{"creator", at("a", "", "ORG_PROJECT_CREATOR", "ORG_OWNER_VIEWER", "ORG_USER_MANAGER"), false},
		{"a role of another scope", append(at("", "", "ORG_OWNER"), at("a", "", "IAM_OWNER")...), false},
		{"the second of two", append(at("b", "", "ORG_OWNER"), at("a", "", "ORG_OWNER")...), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := caller.CoversProjects(c.memberships, "a"); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Names end in a known verb, and whatever can be written, deleted or created has a permission
// that ends in .read.
func TestReadConvention(t *testing.T) {
	t.Parallel()
	verbs := []string{"read", "write", "delete", "create", "import"}
	for _, p := range permissions {
		if verb := p[strings.LastIndex(p, ".")+1:]; !slices.Contains(verbs, verb) {
			t.Errorf("%s ends with none of %v", p, verbs)
		}
	}
	for _, p := range permissions {
		if thing := p[:strings.LastIndex(p, ".")]; thing != "user.credential" &&
			!slices.Contains(permissions, thing+".read") {
			t.Errorf("nothing lets a viewer read what %s alters", p)
		}
	}
}

func at(organization, project string, roles ...string) []caller.Membership {
	return []caller.Membership{{OrganizationID: organization, ProjectID: project, Roles: roles}}
}

// covers reports whether Missing finds nothing. It checks that a found permission is one of
// theirs and not of mine.
func covers(t *testing.T, mine, theirs []caller.Membership) bool {
	t.Helper()
	p, of, missing := caller.MissingPermission(mine, theirs)
	if missing && (caller.Holds(mine, p, of.OrganizationID, of.ProjectID) || !slices.ContainsFunc(theirs,
		func(m caller.Membership) bool {
			return m.OrganizationID == of.OrganizationID && m.ProjectID == of.ProjectID
		})) {
		t.Errorf("%q of %+v is not missing", p, of)
	}
	return !missing
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mine, theirs []caller.Membership
		want         bool
	}{
		"nothing covers nothing":     {nil, nil, true},
		"nothing covers no role":     {nil, at(org, ""), true},
		"nothing covers a viewer":    {nil, at(org, "", "ORG_OWNER_VIEWER"), false},
		"unknown roles give nothing": {nil, at(org, "", "NO_ROLE"), true},
		"the same":                   {at(org, "", "ORG_OWNER"), at(org, "", "ORG_OWNER"), true},
		"a part": {at(org, "", "ORG_OWNER"),
			at(org, "", "ORG_USER_MANAGER", "ORG_PROJECT_CREATOR"), true},
		"more": {at(org, "", "ORG_USER_MANAGER"), at(org, "", "ORG_OWNER"), false},
		"a manager and another's settings": {at(org, "", "ORG_USER_MANAGER"),
			at(org, "", "ORG_SETTINGS_MANAGER"), false},
		"two roles together": {at(org, "", "ORG_OWNER_VIEWER", "ORG_USER_MANAGER"),
			at(org, "", "ORG_USER_MANAGER"), true},
		"elsewhere": {at(org, "", "ORG_OWNER"),
			at(otherOrg, "", "ORG_PROJECT_CREATOR"), false},
		"here and elsewhere": {at(org, "", "ORG_OWNER"),
			slices.Concat(at(org, "", "ORG_OWNER"), at(otherOrg, "", "ORG_OWNER")), false},
		"an organization and its project": {at(org, "", "ORG_OWNER"), at(org, project, "PROJECT_OWNER"), true},
		"a project and its organization": {at(org, project, "PROJECT_OWNER"),
			at(org, "", "ORG_OWNER_VIEWER"), false},
		"another project": {at(org, project, "PROJECT_OWNER"),
			at(org, otherProject, "PROJECT_OWNER_VIEWER"), false},
		"the instance and everything": {at("", "", "IAM_OWNER"), slices.Concat(at("", "", "IAM_OWNER"),
			at(org, "", "ORG_OWNER"), at(otherOrg, otherProject, "PROJECT_OWNER")), true},
		"an organization and the instance": {at(org, "", "ORG_OWNER"), at("", "", "IAM_USER_MANAGER"), false},
		"a user manager of the instance": {at("", "", "IAM_USER_MANAGER"),
			at(org, "", "ORG_USER_MANAGER"), false},
		"a role that counts for nothing there": {at(org, "", "IAM_OWNER"), at(org, "", "ORG_PROJECT_CREATOR"), false},
		"nor may it be given":                  {at(org, "", "ORG_OWNER"), at(org, "", "IAM_OWNER"), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := covers(t, c.mine, c.theirs); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Missing agrees with Holds for all pairs of memberships.
func TestCoversAgreesWithHolds(t *testing.T) {
	t.Parallel()
	places := map[caller.Level][2]string{
		caller.Instance: {}, caller.Organization: {org, ""}, caller.Project: {org, project},
	}
	for mine, a := range roles {
		for theirs, b := range roles {
			have := at(places[a.scope][0], places[a.scope][1], mine)
			want := true
			for _, p := range permissions {
				if matches(b.holds, p) && !matches(b.except, p) && !caller.Holds(have, p, places[b.scope][0],
					places[b.scope][1]) {
					want = false
				}
			}
			if got := covers(t, have, at(places[b.scope][0], places[b.scope][1], theirs)); got != want {
				t.Errorf("%s covers %s: %v", mine, theirs, got)
			}
		}
	}
}
