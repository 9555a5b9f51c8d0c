package testworld

import (
	"context"
	"slices"
	"strings"

	"herald/services/users/internal/password"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
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

// Happened fails the test unless a user's newest event has that name and its data contains all parts. It returns the
// id and the data of the event.
func (w *World) Happened(userID, want string, parts ...string) (id, data string) {
	w.Helper()
	var name string
	if err := w.Service.DB.QueryRow(w.Context(), `select id, name, data::text from events where aggregate_id = $1
		order by position desc limit 1`, userID).Scan(&id, &name, &data); err != nil {
		w.Fatal(err)
	}
	lacks := func(part string) bool { return !strings.Contains(data, part) }
	if name != want || slices.ContainsFunc(parts, lacks) {
		w.Errorf("event %s %s, want %s with %q", name, data, want, parts)
	}
	return id, data
}

// Fresh returns the context of a user who has just logged in.
func (w *World) Fresh(userID, orgID string) context.Context {
	w.Helper()
	c := w.Caller(w.Admin, userID, orgID)
	c.AuthenticatedAt = w.Ground.Now()
	return w.As(c)
}

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
	return w.Import(w.Admin, r).UserId
}

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

// Moves are the calls that change a user's state, by the name of the event.
func (w *World) Moves() map[string]func(context.Context, string) (*heraldv1.ObjectDetails, error) {
	return map[string]func(context.Context, string) (*heraldv1.ObjectDetails, error){
		"deactivated": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.DeactivateUser(ctx, &usersv1.DeactivateUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"reactivated": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.ReactivateUser(ctx, &usersv1.ReactivateUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"locked": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.LockUser(ctx, &usersv1.LockUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"unlocked": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.UnlockUser(ctx, &usersv1.UnlockUserRequest{UserId: id})
			return r.GetDetails(), err
		},
		"removed": func(ctx context.Context, id string) (*heraldv1.ObjectDetails, error) {
			r, err := w.Gateway.RemoveUser(ctx, &usersv1.RemoveUserRequest{UserId: id})
			return r.GetDetails(), err
		},
	}
}

// Hashed returns the hash of a password as an import has it.
func Hashed(s string) *usersv1.HashedPassword { return &usersv1.HashedPassword{Value: s} }

// Flat returns an import whose fields are beside the id of the user.
func Flat(r *usersv1.ImportHumanUserRequest) *usersv1.ImportHumanUserRequest { return r }

// Wrapped returns the same import with the fields in user.
func Wrapped(r *usersv1.ImportHumanUserRequest) *usersv1.ImportHumanUserRequest {
	return &usersv1.ImportHumanUserRequest{UserId: r.UserId, User: &usersv1.HumanUserData{
		UserName: r.UserName, Profile: r.Profile, Email: r.Email, Phone: r.Phone, Password: r.Password,
		HashedPassword:         r.HashedPassword,
		PasswordChangeRequired: r.PasswordChangeRequired, OtpCode: r.OtpCode, Idps: r.Idps, Metadata: r.Metadata,
	}}
}

// Bulk returns an import of users of one organization.
func Bulk(orgID string, all ...*usersv1.ImportHumanUserRow) *usersv1.ImportRequest {
	return &usersv1.ImportRequest{DataOrgs: &usersv1.ImportData{Orgs: []*usersv1.ImportOrg{
		{OrgId: orgID, HumanUsers: all},
	}}}
}

// Imported imports and returns the ids of the first organization and the errors by row.
func (w *World) Imported(ctx context.Context, r *usersv1.ImportRequest) ([]string, map[uint64]*usersv1.ImportError) {
	w.Helper()
	got, err := w.Gateway.ImportUsers(ctx, r)
	if err != nil {
		w.Fatal(err)
	}
	errs := map[uint64]*usersv1.ImportError{}
	for _, e := range got.Errors {
		errs[e.Row] = e
	}
	if len(got.Success.Orgs) == 0 {
		return nil, errs
	}
	return got.Success.Orgs[0].HumanUserIds, errs
}

// Subject returns what the service auth gets about a subject.
func (w *World) Subject(r *usersv1.ResolveSubjectRequest) *usersv1.ResolveSubjectResponse {
	w.Helper()
	got, err := w.Auth.ResolveSubject(w.Context(), r)
	if err != nil {
		w.Fatal(err)
	}
	return got
}
