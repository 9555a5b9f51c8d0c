package main

// equivalent are the checks without which the system does the same, by their names in the list, with
// the reason.
var equivalent = map[string]string{
	"owner services/projects/internal/store/project.go RemoveProject: org_id = @org_id": "it only locks the " +
		"applications of a project that is locked by its organization, and a project's applications have the same one",
}
