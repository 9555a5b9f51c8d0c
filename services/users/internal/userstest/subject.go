package userstest

import (
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Subject returns what the service auth learns about a subject.
func (w *World) Subject(r *usersv1.ResolveSubjectRequest) *usersv1.ResolveSubjectResponse {
	w.Helper()
	got, err := w.Auth.ResolveSubject(w.Context(), r)
	if err != nil {
		w.Fatal(err)
	}
	return got
}
