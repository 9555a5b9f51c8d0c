package main

const held = "it only locks the grant that holdGranted, of the same statement, has found with the same conditions"

// equivalent are the checks without which the system does the same, by their names in the list, with
// the reason.
var equivalent = map[string]string{
	"owner services/projects/internal/store/project.go RemoveProject: org_id = @org_id": "it only locks the " +
		"applications of a project that is locked by its organization, and a project's applications have the same one",
	"owner services/projects/internal/store/user_grant.go holdGrant: " +
		"granted_org_id is not distinct from @org_id": held,
	"parent services/projects/internal/store/user_grant.go holdGrant: project_id is not distinct from @id": held,
	"state services/users/internal/store/subject.go checkedSubject: g.state = @org_active": "each change of an " +
		"organization's state changes its generation too, which is compared beside it",
	"owner services/auth/internal/web/login/federated/link.go Link: s.OrgID != a.OrgID, never": "a session keeps its " +
		"organization, and the login that it began has the same one; the session's id is compared beside it",
}
