package testworld

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// loginFaults returns those of the real service, by the password or code that causes them here.
func loginFaults() map[string]*fault.Fault {
	return map[string]*fault.Fault{
		"locked": usersfault.ErrPasswordLocked.Say("Too many wrong passwords").After(14 * time.Minute),
		"busy":   fault.ErrOverloaded.After(time.Second),
		"away":   fault.ErrUnavailable.After(time.Second),
		"broken": fault.ErrInternal,
		"odd":    fault.ErrInvalidArgument,
		"111111": usersfault.ErrCodeWrong,
		"222222": usersfault.ErrOTPLocked.Say("Too many wrong codes").After(time.Minute),
		"333333": usersfault.ErrLoginOver.Say("The user has changed since"),
	}
}

// CheckPassword implements the contract of the service.
func (u *Users) CheckPassword(
	_ context.Context, r *usersv1.CheckPasswordRequest,
) (*usersv1.CheckPasswordResponse, error) {
	u.called(r)
	if f := loginFaults()[r.Password]; f != nil {
		return nil, f
	}
	found := &usersv1.CheckPasswordResponse{
		UserId: "u1", OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, OrgActive: true,
		Generation: u.subjectOf().Generation, OrgGeneration: 1, Credential: "password",
	}
	switch r.Password {
	case "right":
	case "factor":
		found.NeedsFactor = true
	case "next":
		found.ChangeRequired = true
	case "both":
		found.NeedsFactor, found.ChangeRequired = true, true
	case "initial":
		found.State = usersv1.UserState_USER_STATE_INITIAL
	case "inactive":
		found.State = usersv1.UserState_USER_STATE_LOCKED
	case "closed":
		found.OrgActive = false
	default:
		return nil, usersfault.ErrLoginWrong
	}
	return found, nil
}

// CheckFactor implements the contract of the service.
func (u *Users) CheckFactor(_ context.Context, r *usersv1.CheckFactorRequest) (*usersv1.CheckFactorResponse, error) {
	u.called(r)
	if f := loginFaults()[r.Code]; f != nil {
		return nil, f
	}
	return &usersv1.CheckFactorResponse{}, nil
}

// ChooseNextPassword implements the contract of the service.
func (u *Users) ChooseNextPassword(
	_ context.Context, r *usersv1.ChooseNextPasswordRequest,
) (*usersv1.ChooseNextPasswordResponse, error) {
	u.called(r)
	if f := faults()[r.Password]; f != nil {
		return nil, f
	}
	u.Change()
	return &usersv1.ChooseNextPasswordResponse{Generation: u.subjectOf().Generation}, nil
}

// accounts are the answers of users by the account.
var accounts = map[string]*usersv1.CheckExternalAccountResponse{
	"ada":      {State: usersv1.UserState_USER_STATE_ACTIVE, OrgActive: true},
	"factor":   {State: usersv1.UserState_USER_STATE_ACTIVE, OrgActive: true, NeedsFactor: true},
	"locked":   {State: usersv1.UserState_USER_STATE_LOCKED, OrgActive: true},
	"inactive": {State: usersv1.UserState_USER_STATE_ACTIVE},
}

// CheckExternalAccount implements the contract of the service.
func (u *Users) CheckExternalAccount(
	_ context.Context, r *usersv1.CheckExternalAccountRequest,
) (*usersv1.CheckExternalAccountResponse, error) {
	found := accounts[r.ExternalUserId]
	if u.Made(r.ExternalUserId) {
		found = accounts["ada"]
	}
	switch {
	case r.ExternalUserId == "elsewhere":
		return nil, usersfault.ErrIdpLinkOtherTenant.Say("The link does not name the tenant")
	case found == nil:
		return nil, usersfault.ErrIdpLinkNotFound.Say("The user is not linked to that account")
	}
	return &usersv1.CheckExternalAccountResponse{
		UserId: "u1", OrgId: "o1", State: found.State, OrgActive: found.OrgActive, Generation: u.subjectOf().Generation,
		OrgGeneration: 1, Credential: "idp:" + r.IdpId + ":" + r.ExternalUserId, NeedsFactor: found.NeedsFactor,
	}, nil
}

// Made reports whether a user was created for an account.
func (u *Users) Made(account string) bool {
	return slices.ContainsFunc(u.Requests(), func(m proto.Message) bool {
		r, ok := m.(*usersv1.CreateExternalUserRequest)
		return ok && r.User.Idps[0].ExternalUserId == account
	})
}

// Updated returns the updates of users.
func (u *Users) Updated() (all []*usersv1.UpdateExternalUserRequest) {
	for _, m := range u.Requests() {
		if r, ok := m.(*usersv1.UpdateExternalUserRequest); ok {
			all = append(all, r)
		}
	}
	return all
}

// CreateExternalUser implements the contract of the service.
func (u *Users) CreateExternalUser(
	_ context.Context, r *usersv1.CreateExternalUserRequest,
) (*usersv1.CreateExternalUserResponse, error) {
	switch r.User.UserName {
	case "taken":
		return nil, usersfault.ErrUserNameTaken
	case "lacking":
		return nil, fault.ErrInvalidArgument
	}
	u.called(r)
	return &usersv1.CreateExternalUserResponse{UserId: "u1"}, nil
}

// UpdateExternalUser implements the contract of the service.
func (u *Users) UpdateExternalUser(
	_ context.Context, r *usersv1.UpdateExternalUserRequest,
) (*usersv1.UpdateExternalUserResponse, error) {
	u.called(r)
	return &usersv1.UpdateExternalUserResponse{}, nil
}

// LinkExternalAccount implements the contract of the service.
func (u *Users) LinkExternalAccount(
	_ context.Context, r *usersv1.LinkExternalAccountRequest,
) (*usersv1.LinkExternalAccountResponse, error) {
	switch r.Link.ExternalUserId {
	case "taken":
		return nil, usersfault.ErrIdpLinkTaken.Say("Another user is linked to that account")
	case "too many":
		return nil, usersfault.ErrIdpLinkLimit.Say("A user is linked to at most 20 accounts")
	case "ended":
		return nil, fault.ErrTokenInvalid
	}
	u.called(r)
	return &usersv1.LinkExternalAccountResponse{}, nil
}

// Links returns the accounts that were linked.
func (u *Users) Links() (all []*usersv1.LinkExternalAccountRequest) {
	for _, m := range u.Requests() {
		if r, ok := m.(*usersv1.LinkExternalAccountRequest); ok {
			all = append(all, r)
		}
	}
	return all
}

// Verify makes the user's address a verified one.
func (u *Users) Verify() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Unverified = false
}
