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

func (u *Users) answerLogin(_ context.Context, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *usersv1.CheckPasswordRequest:
		if f := loginFaults()[r.Password]; f != nil {
			return nil, f
		}
		found := &usersv1.CheckPasswordResponse{
			UserId: "u1", OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, OrgActive: r.Password != "closed",
			Generation: 1 + u.changes, OrgGeneration: 1, Credential: "password",
			NeedsFactor:    r.Password == "factor" || r.Password == "both",
			ChangeRequired: r.Password == "next" || r.Password == "both",
		}
		switch r.Password {
		case "right", "factor", "next", "both", "closed":
		case "initial":
			found.State = usersv1.UserState_USER_STATE_INITIAL
		case "inactive":
			found.State = usersv1.UserState_USER_STATE_LOCKED
		default:
			return nil, usersfault.ErrLoginWrong
		}
		return found, nil
	case *usersv1.CheckFactorRequest:
		return refusal(loginFaults(), r.Code, &usersv1.CheckFactorResponse{})
	case *usersv1.ChooseNextPasswordRequest:
		if f := faults()[r.Password]; f != nil {
			return nil, f
		}
		u.changes++
		return &usersv1.ChooseNextPasswordResponse{Generation: 1 + u.changes}, nil
	}
	return nil, nil
}

func (u *Users) answerExternal(_ context.Context, request proto.Message) (proto.Message, error) {
	switch r := request.(type) {
	case *usersv1.CheckExternalAccountRequest:
		found := &usersv1.CheckExternalAccountResponse{
			UserId: "u1", OrgId: "o1", State: usersv1.UserState_USER_STATE_ACTIVE, Generation: 1 + u.changes,
			OrgActive: r.ExternalUserId != "inactive", OrgGeneration: 1, NeedsFactor: r.ExternalUserId == "factor",
			Credential: "idp:" + r.IdpId + ":" + r.ExternalUserId,
		}
		switch r.ExternalUserId {
		case "ada", "factor", "inactive":
		case "locked":
			found.State = usersv1.UserState_USER_STATE_LOCKED
		case "elsewhere":
			return nil, usersfault.ErrIdpLinkOtherTenant.Say("The link does not name the tenant")
		default:
			if !slices.Contains(u.Created, r.ExternalUserId) {
				return nil, usersfault.ErrIdpLinkNotFound.Say("The user is not linked to that account")
			}
		}
		return found, nil
	case *usersv1.CreateExternalUserRequest:
		switch r.User.UserName {
		case "taken":
			return nil, usersfault.ErrUserNameTaken
		case "lacking":
			return nil, fault.ErrInvalidArgument
		}
		u.Created = append(u.Created, r.User.Idps[0].ExternalUserId)
		return &usersv1.CreateExternalUserResponse{UserId: "u1"}, nil
	case *usersv1.UpdateExternalUserRequest:
		u.Updated = append(u.Updated, r)
		return &usersv1.UpdateExternalUserResponse{}, nil
	case *usersv1.LinkExternalAccountRequest:
		switch r.Link.ExternalUserId {
		case "taken":
			return nil, usersfault.ErrIdpLinkTaken.Say("Another user is linked to that account")
		case "too many":
			return nil, usersfault.ErrIdpLinkLimit.Say("A user is linked to at most 20 accounts")
		case "ended":
			return nil, fault.ErrTokenInvalid
		}
		u.Linked = append(u.Linked, r)
		return &usersv1.LinkExternalAccountResponse{}, nil
	}
	return nil, nil
}
