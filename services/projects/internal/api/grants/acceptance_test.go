package grants_test

import (
	"fmt"
	"testing"

	"herald/services/projects/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

const (
	pending  = projectsv1.ProjectGrantAcceptance_PROJECT_GRANT_ACCEPTANCE_PENDING
	accepted = projectsv1.ProjectGrantAcceptance_PROJECT_GRANT_ACCEPTANCE_ACCEPTED
	ended    = projectsv1.ProjectGrantAcceptance_PROJECT_GRANT_ACCEPTANCE_ENDED
)

// granted is a project of org-a that is granted to org-b.
type granted struct {
	*testworld.World
	project, grant string
}

func newGranted(t *testing.T, managers ...string) granted {
	t.Helper()
	w := testworld.New(t)
	w.Users.Managers = managers
	id := w.Project(w.InA, "Shop")
	w.AddRoles(w.InA, id, "clerk")
	return granted{w, id, w.Grant(id, "org-b", "clerk")}
}

func (g granted) this() *projectsv1.GrantedProjectRequest {
	return &projectsv1.GrantedProjectRequest{GrantId: g.grant}
}

// shows fails the test unless both organizations see an acceptance, and returns its details.
func (g granted) shows(want projectsv1.ProjectGrantAcceptance) *heraldv1.ObjectDetails {
	g.Helper()
	one, err := g.GetProjectGrant(g.InA, &projectsv1.GetProjectGrantRequest{ProjectId: g.project, GrantId: g.grant})
	g.Must(one, err)
	owner, err := g.SearchProjectGrants(g.InA, &projectsv1.SearchProjectGrantsRequest{ProjectId: g.project})
	g.Must(owner, err)
	theirs, err := g.SearchGrantedProjects(g.InB, &projectsv1.SearchGrantedProjectsRequest{})
	g.Must(theirs, err)
	details := one.ProjectGrant.AcceptanceDetails
	for _, got := range []projectsv1.ProjectGrantAcceptance{
		one.ProjectGrant.Acceptance, owner.Result[0].Acceptance, theirs.Result[0].Acceptance,
	} {
		if got != want {
			g.Errorf("%v, want %v", got, want)
		}
	}
	for _, got := range []*heraldv1.ObjectDetails{
		owner.Result[0].AcceptanceDetails, theirs.Result[0].AcceptanceDetails,
	} {
		if got.GetSequence() != details.GetSequence() || got.GetResourceOwner() != details.GetResourceOwner() {
			g.Errorf("%v and %v", got, details)
		}
	}
	if (details == nil) != (want == pending) || details != nil && details.ResourceOwner != "org-b" {
		g.Errorf("%v", details)
	}
	return details
}

// events is how many events of a name the organization of a grant has.
func (g granted) events(name string) int {
	return g.Rows("events where aggregate = 'project_grant' and aggregate_id = $1 and name = $2 "+
		"and organization_id = 'org-b'", g.grant, name)
}

// The organization to which a project is granted accepts the grant, ends it and accepts it again. Each time only its
// own row changes.
func TestGrantedOrganizationAnswersAGrant(t *testing.T) {
	t.Parallel()
	w := newGranted(t)
	w.shows(pending)
	grants := `select coalesce(json_agg(g order by id)::text, '') || (select json_agg(p)::text from projects p)
		from project_grants g`
	var before, after string
	w.Must(nil, w.Service.DB.QueryRow(t.Context(), grants).Scan(&before))
	user := w.Give(w.InA, "user-org-b", w.project, "", "clerk")
	for range 2 {
		r, err := w.AcceptGrantedProject(w.InB, w.this())
		w.Must(r, err)
		if got := w.shows(accepted); got.Sequence != r.Details.Sequence || r.Details.ResourceOwner != "org-b" {
			t.Errorf("%v, %v", got, r.Details)
		}
	}
	roles := w.Give(w.InB, "user-org-b", w.project, w.grant, "clerk")
	for range 2 {
		r, err := w.EndGrantedProject(w.InB, w.this())
		w.Must(r, err)
		if got := w.shows(ended); got.Sequence != r.Details.Sequence {
			t.Errorf("%v, %v", got, r.Details)
		}
	}
	_, err := w.GetUserGrant(w.InB, &projectsv1.GetUserGrantRequest{UserId: "user-org-b", GrantId: roles})
	refused(t, err, "USER_GRANT_NOT_FOUND")
	if len(has(w.InA, w.World, "user-org-b", user)) != 1 {
		t.Error("a role that the owner has given is gone")
	}
	refused(t, adding(w.World)(w.InB, "user-org-b", w.project, w.grant, "clerk"), "PROJECT_GRANT_ENDED")
	w.Must(w.AcceptGrantedProject(w.InB, w.this()))
	w.shows(accepted)
	w.Must(nil, w.Service.DB.QueryRow(t.Context(), grants).Scan(&after))
	if before != after || w.events("accepted") != 2 || w.events("ended") != 1 {
		t.Errorf("%d accepted, %d ended; of the owner there was\n%s\nand is\n%s",
			w.events("accepted"), w.events("ended"),
			before, after)
	}
	if w.Rows("events where name = 'removed' and aggregate_id = $1 and organization_id = 'org-b'", roles) != 1 {
		t.Error("the removed role has no event")
	}
}

// Only the organization to which a project is granted answers.
func TestOnlyTheGrantedOrganizationAnswers(t *testing.T) {
	t.Parallel()
	w := newGranted(t)
	viewer := w.As("org-b", "ORG_OWNER_VIEWER")
	for _, answer := range []func(orgID string) error{
		func(orgID string) error {
			_, err := w.AcceptGrantedProject(w.As(orgID, "ORG_OWNER"), w.this())
			return err
		},
		func(orgID string) error {
			_, err := w.EndGrantedProject(w.As(orgID, "ORG_OWNER"), w.this())
			return err
		},
	} {
		refused(t, answer("org-a"), "PROJECT_GRANT_NOT_FOUND")
		refused(t, answer("org-c"), "PROJECT_GRANT_NOT_FOUND")
	}
	_, err := w.AcceptGrantedProject(viewer, w.this())
	refused(t, err, "PERMISSION_DENIED", "project.grant.write")
	w.shows(pending)
}

// The first role by a grant accepts it, once, however many are given at the same time. Roles by the owner do not.
func TestFirstRoleAcceptsTheGrant(t *testing.T) {
	t.Parallel()
	w := newGranted(t)
	w.Give(w.InA, "user-org-b", w.project, "", "clerk")
	w.shows(pending)
	race(t, 10, func(i int) error {
		return adding(w.World)(w.InB, fmt.Sprintf("user%d-org-b", i), w.project, w.grant, "clerk")
	})
	details := w.shows(accepted)
	if w.events("accepted") != 1 {
		t.Errorf("%d events", w.events("accepted"))
	}
	if n := w.Rows(`events where name = 'accepted' and position = $1 and data->>'cause' = (
			select id from events where aggregate = 'user_grant' and name = 'added' and organization_id = 'org-b'
			order by position limit 1)`,
		details.Sequence); n != 1 {
		t.Error("the event does not name the role")
	}
}

// A grant is accepted at once if its maker may accept it.
func TestGrantOfAManagerThereIsAcceptedAtOnce(t *testing.T) {
	t.Parallel()
	w := newGranted(t, "org-b")
	w.shows(accepted)
	if w.events("accepted") != 1 {
		t.Errorf("%d events", w.events("accepted"))
	}
	w.Grant(w.project, "org-c")
	if n := w.Rows("project_grant_acceptances"); n != 1 {
		t.Errorf("%d acceptances", n)
	}
}
