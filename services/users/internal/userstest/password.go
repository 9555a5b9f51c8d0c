package userstest

import (
	"herald/services/users/internal/password"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Hash returns the stored hash of a user's password.
func (w *World) Hash(userID string) (encoded string) {
	w.Helper()
	if err := w.Service.DB.QueryRow(w.Context(), `select password_hash from users where id = $1`, userID).
		Scan(&encoded); err != nil {
		w.Fatal(err)
	}
	return encoded
}

// IsPassword reports whether a user has a password.
func (w *World) IsPassword(userID, typed string) bool {
	w.Helper()
	hash, err := password.Parse(w.Hash(userID))
	if err != nil {
		w.Fatal(err)
	}
	ok, _, err := password.NewHasher(1, 1).Verify(w.Context(), hash, typed)
	if err != nil {
		w.Fatal(err)
	}
	return ok
}

// SetPassword sets a user's password as the administrator.
func (w *World) SetPassword(userID, typed string, mustChange bool) error {
	_, err := w.Gateway.SetPassword(w.Admin, &usersv1.SetPasswordRequest{
		UserId: userID, Password: typed, PasswordChangeRequired: mustChange,
	})
	return err
}
