package userstest

import (
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Check asks for the login of a name with a password.
func (w *World) Check(name, password string) (*usersv1.CheckPasswordResponse, error) {
	w.Helper()
	return w.Auth.CheckPassword(w.Context(), &usersv1.CheckPasswordRequest{
		LoginName: name, Password: password, Client: "192.0.2.1",
	})
}

// Somebody imports an active user with a password and an e-mail address.
func (w *World) Somebody(name, email, typed string) string {
	w.Helper()
	r := Minimal(name)
	r.Email = &usersv1.Email{Email: email, IsEmailVerified: true}
	r.Password = typed
	got, err := w.Gateway.ImportHumanUser(w.Admin, r)
	if err != nil {
		w.Fatal(err)
	}
	return got.UserId
}
