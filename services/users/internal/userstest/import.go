package userstest

import (
	usersv1 "herald/shared/gen/herald/users/v1"
)

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
