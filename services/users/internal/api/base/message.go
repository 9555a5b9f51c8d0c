package base

import (
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// MachineData returns what a request says about a machine user.
func MachineData(r interface {
	GetUserName() string
	GetName() string
	GetDescription() string
	GetAccessTokenType() heraldv1.OidcTokenType
}) domain.MachineData {
	return domain.MachineData{
		UserName: r.GetUserName(), Name: r.GetName(), Description: r.GetDescription(),
		AccessTokenType: domain.AccessTokenType(r.GetAccessTokenType()),
	}
}

func machine(u domain.User) *usersv1.Machine {
	return &usersv1.Machine{
		Name: u.DisplayName, Description: u.Description, HasSecret: u.SecretHash != "",
		AccessTokenType: heraldv1.OidcTokenType(u.AccessTokenType),
	}
}

// Message returns the message about a user.
func (b Base) Message(u domain.User) *usersv1.User {
	out := &usersv1.User{
		Id: u.ID, Details: resource.Details(u.Record, u.OrgID), State: usersv1.UserState(u.State),
		UserName: u.UserName, LoginNames: []string{u.UserName}, PreferredLoginName: u.UserName,
	}
	if u.Paused(b.Now()) {
		out.LockedUntil = timestamppb.New(*u.LockedUntil)
	}
	if u.Type == domain.Machine {
		out.Type = &usersv1.User_Machine{Machine: machine(u)}
		return out
	}
	h := &usersv1.Human{
		Profile: &usersv1.Profile{
			FirstName: u.FirstName, LastName: u.LastName, NickName: u.NickName, DisplayName: u.DisplayName,
			PreferredLanguage: u.PreferredLanguage, Gender: usersv1.Gender(u.Gender),
		},
		Email:        &usersv1.Email{Email: u.Email, IsEmailVerified: u.EmailVerified},
		PendingEmail: u.PendingEmail,
	}
	if u.Phone != "" {
		h.Phone = &usersv1.Phone{Phone: u.Phone, IsPhoneVerified: u.PhoneVerified}
	}
	out.Type = &usersv1.User_Human{Human: h}
	return out
}
