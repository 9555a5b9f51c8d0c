package userstest

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// UpdateEmail replaces a user's e-mail address as the administrator.
func (w *World) UpdateEmail(userID, address string, verified bool) *usersv1.UpdateEmailResponse {
	w.Helper()
	r, err := w.Gateway.UpdateEmail(w.Admin, &usersv1.UpdateEmailRequest{
		UserId: userID, Email: address, IsEmailVerified: verified,
	})
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// Unverified creates an active user whose e-mail address is not verified and returns the id.
func (w *World) Unverified(name string) string {
	w.Helper()
	id := w.Person(w.Admin, name)
	w.UpdateEmail(id, name+"@example.com", false)
	return id
}

// User reads a user as the administrator.
func (w *World) User(userID string) *usersv1.User {
	w.Helper()
	r, err := w.Gateway.GetUser(w.Admin, &usersv1.GetUserRequest{UserId: userID})
	if err != nil {
		w.Fatal(err)
	}
	return r.User
}

// Last returns a user's newest event.
func (w *World) Last(userID string) (id, name, data string) {
	w.Helper()
	if err := w.Service.DB.QueryRow(w.Context(), `select id, name, data::text from events where aggregate_id = $1 `+
		`order by position desc limit 1`, userID).Scan(&id, &name, &data); err != nil {
		w.Fatal(err)
	}
	return id, name, data
}

// Fresh returns the context of a user who has just logged in.
func (w *World) Fresh(userID, orgID string) context.Context {
	w.Helper()
	c := w.Caller(w.Admin, userID, orgID)
	c.AuthenticatedAt = w.Ground.Now()
	return w.As(c)
}
