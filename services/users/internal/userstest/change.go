package userstest

import (
	heraldv1 "herald/shared/gen/herald/v1"
)

// Kinds returns the events of a list, newest first, each with the editor.
func Kinds(r *heraldv1.SearchChangesResponse) (all []string) {
	for _, c := range r.GetResult() {
		all = append(all, c.EventType+" by "+c.EditorId)
	}
	return all
}
